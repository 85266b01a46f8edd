#include "coordinator/service/config_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace rdmove::config {
namespace {

bool isAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool isPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

}  // namespace

bool isHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !isPort(text.substr(colon + 1))) return false;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
    return host.size() >= 2 && host.find_first_not_of("0123456789abcdefABCDEF:.%") == std::string_view::npos;
  }
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return isAlphanumeric(c) || c == '.' || c == '-';
  });
}

bool isName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && isAlphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return isAlphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool isInterfaceName(std::string_view text) {
  return !text.empty() && text.size() <= 15 && text != "." && text != ".." &&
         text.find_first_of("/: \t\n\r\f\v") == std::string_view::npos;
}

bool isPciAddress(std::string_view text) {
  constexpr std::string_view kShape = "xxxx:xx:xx.o";
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (kShape[i] == 'x' ? !hex : kShape[i] == 'o' ? c < '0' || c > '7' : c != kShape[i]) return false;
  }
  return true;
}

}  // namespace rdmove::config
