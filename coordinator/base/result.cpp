#include "coordinator/base/result.hpp"

namespace rdmove {

std::string Error::sentence() const {
  std::string text = attempted.empty() ? cause : "cannot " + attempted + ": " + cause;
  if (!text.empty() && text.back() != '.') text += '.';
  if (!remedy.empty()) text += ' ' + remedy;
  return text;
}

}  // namespace rdmove
