// The guest agent's own answers. They come from the guest, so they are read as if written by an enemy:
// bounded in depth, printed without control characters. Pure; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rdmove::cli {

/// Discarded if it is not JSON or too deep.
nlohmann::ordered_json readAgentObject(std::string_view text);

/// The agent's object on one line. Not JSON, or deeper than 32: {"unreadable": TEXT}.
std::string agentObjectAsJson(std::string_view text);

/// The same for people: "name: value" lines, indented; arrays of objects as tables.
std::string agentObjectAsText(std::string_view text);

}  // namespace rdmove::cli
