#include "coordinator/cli/values.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

namespace rdmove::cli {
namespace {

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string expectation(Range range) {
  return fmt::format("give {} to {}{}{}", range.least, range.most, range.unit.empty() ? "" : " ", range.unit);
}

template <class... Args>
tl::unexpected<std::string> wrong(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<std::string>(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

Reading<std::uint32_t> readNumber(std::string_view text, Range range) {
  const std::string_view digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), isDigit)) {
    return wrong("'{}' is not a whole number; {}", text, expectation(range));
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (text[0] == '-') return wrong("{} is negative; {}", text, expectation(range));
  if (error != std::errc{} || value > range.most)
    return wrong("{} is too large; {}", text, expectation(range));
  if (value < range.least) return wrong("{} is too small; {}", text, expectation(range));
  return static_cast<std::uint32_t>(value);
}

Reading<std::chrono::seconds> readDuration(std::string_view text, Range range) {
  std::uint32_t scale = 1;
  std::string_view number = text;
  if (!text.empty() && !isDigit(text.back())) {
    const char unit = text.back();
    scale = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
    number.remove_suffix(1);
  }
  if (scale == 0 || number.empty()) return wrong("'{}' is not a time; write it like 90s, 10m or 2h", text);
  const auto count = readNumber(number, {0, range.most / scale, ""});
  if (!count || *count * scale < range.least)
    return wrong("'{}' is not a time of {} to {} {}", text, range.least, range.most, range.unit);
  return std::chrono::seconds(*count * scale);
}

Reading<std::string> readName(std::string_view text) {
  if (text.empty()) return wrong("the name is empty");
  if (text.size() > 255) return wrong("the name is longer than 255 bytes");
  if (text[0] == '-') return wrong("'{}' starts with '-', as options do", text);
  if (std::any_of(text.begin(), text.end(), isControl)) return wrong("the name has control characters in it");
  return std::string(text);
}

Reading<MacAddress> readMac(std::string_view text) {
  const auto mac = MacAddress::parse(text);
  if (!mac) return wrong("'{}' is not a MAC address; write it like 52:54:00:77:00:01", text);
  if ((mac->bytes()[0] & 1U) != 0) return wrong("{} is a multicast address; a VF needs a unicast one", text);
  if (*mac == MacAddress{}) return wrong("{} is no device's address", text);
  return *mac;
}

Reading<std::string> readAlias(std::string_view text) {
  const auto fits = [](char c) { return isLetter(c) || isDigit(c) || c == '-' || c == '_'; };
  if (!text.starts_with("ua-") || text.size() == 3 || !std::all_of(text.begin(), text.end(), fits)) {
    return wrong("'{}' is not a user alias of libvirt; it starts with 'ua-', like ua-rdma0", text);
  }
  if (text.size() > 64) return wrong("the alias is longer than 64 bytes");
  return std::string(text);
}

Reading<std::string> readUri(std::string_view text) {
  const auto colon = text.find(':');
  const bool scheme =
      colon != std::string_view::npos && colon > 0 && isLetter(text[0]) &&
      std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                  [](char c) { return isLetter(c) || isDigit(c) || c == '+' || c == '-' || c == '.'; });
  if (!scheme || colon + 1 == text.size() || std::any_of(text.begin(), text.end(), isControl)) {
    return wrong("'{}' is not a URI; write it like tcp://hostb.example:49152", text);
  }
  return std::string(text);
}

Reading<std::string> readSocketPath(std::string_view text) {
  if (text.empty()) return wrong("the path is empty");
  if (text.size() >= sizeof(sockaddr_un::sun_path)) {
    return wrong("the path is {} bytes long; a unix socket's may have {}", text.size(),
                 sizeof(sockaddr_un::sun_path) - 1);
  }
  return std::string(text);
}

}  // namespace rdmove::cli
