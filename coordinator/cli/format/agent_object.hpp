// The guest agent's own answers. They come from the guest, so they are read as if written by an enemy:
// bounded in depth, printed without control characters. The one user of nlohmann-json here. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace rdmove::cli {

/// The agent's object on one line. Not JSON, or deeper than 32: {"unreadable": TEXT}.
std::string agentObjectAsJson(std::string_view text);

/// The same for people: "name: value" lines, indented; arrays of objects as tables.
std::string agentObjectAsText(std::string_view text);

}  // namespace rdmove::cli
