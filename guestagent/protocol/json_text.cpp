#include "guestagent/protocol/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol {
namespace {

// Ahead of the parser, so that no deep value is ever built. Wrong JSON may be counted wrongly; it is refused
// next.
int deepest_level(std::string_view text) {
  int level = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++level);
    } else if (c == '}' || c == ']') {
      --level;
    }
  }
  return deepest;
}

}  // namespace

Result<nlohmann::json> parse_object(std::string_view text) {
  if (text.size() > limits::line_bytes) {
    return fail(ErrorCode::ParseError,
                "a message is longer than " + std::to_string(limits::line_bytes) + " bytes");
  }
  if (deepest_level(text) > limits::json_depth) {
    return fail(ErrorCode::ParseError, "JSON is nested deeper than " + std::to_string(limits::json_depth));
  }
  // The parser takes a nought for the end of its input, and would not look at what follows.
  auto value = text.find('\0') == std::string_view::npos ? nlohmann::json::parse(text, nullptr, false)
                                                         : nlohmann::json(nlohmann::json::value_t::discarded);
  if (value.is_discarded()) return fail(ErrorCode::ParseError, "not valid JSON in UTF-8");
  if (!value.is_object()) {
    return fail(ErrorCode::InvalidRequest, std::string("a message is one object, not ") + value.type_name());
  }
  return value;
}

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string front_of(const std::string& text, std::size_t max) {
  auto size = std::min(text.size(), max);
  const auto goes_on = [&](std::size_t at) { return at < text.size() && (text[at] & 0xc0) == 0x80; };
  while (size > 0 && goes_on(size)) --size;
  return text.substr(0, size);
}

}  // namespace rdmove::protocol
