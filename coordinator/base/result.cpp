#include "coordinator/base/result.hpp"

namespace rdmove {

std::string Error::sentence() const {
  std::string text = attempted.empty() ? cause : "cannot " + attempted + ": " + cause;
  if (!text.empty() && std::string(".?!").find(text.back()) == std::string::npos) text += '.';
  if (!remedy.empty()) text += ' ' + remedy;
  return text;
}

}  // namespace rdmove
