// The forms that configuration values have beyond their TOML type. Pure functions; internal to config.cpp.
#pragma once

#include <string_view>

namespace rdmove::config {

/// "host:port" or "[v6 address]:port", port 1 to 65535.
bool isHostPort(std::string_view text);
/// Letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 64.
bool isName(std::string_view text);
/// What Linux takes as a network interface's name: 1 to 15 characters without '/', ':' and white space.
bool isInterfaceName(std::string_view text);
/// "0000:3b:00.2", lower case.
bool isPciAddress(std::string_view text);

}  // namespace rdmove::config
