// Text to JSON and back, with the channel's limits: one object, depth, UTF-8. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "guestagent/protocol/error.hpp"

namespace rdmove::protocol {

/// Accepts exactly one JSON object of at most limits::json_depth levels; ParseError or InvalidRequest else.
Result<nlohmann::json> parse_object(std::string_view text);

/// Compact; what is not UTF-8 (a process may call itself anything) becomes U+FFFD.
std::string dump(const nlohmann::json& value);

/// The front of UTF-8 text, of at most `max` bytes: no character is cut in two.
std::string front_of(const std::string& text, std::size_t max);

}  // namespace rdmove::protocol
