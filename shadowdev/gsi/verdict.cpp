#include "shadowdev/gsi/verdict.hpp"

namespace rdmove::gsi {

std::string_view to_string(Verdict verdict) {
  static constexpr std::array<std::string_view, kVerdicts> kNames = {
      "to the wire", "to a function",    "answered here",     "waiting",       "absorbed",
      "malformed",   "no such function", "subnet management", "class refused", "foreign GID",
      "no GRH",      "no match",         "over quota"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace rdmove::gsi
