// The guest agent's answer to `apps`, as a table for people. Read as if written by an enemy. Pure; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rdmove::cli {

/// None: it is no answer to `apps`.
std::optional<std::string> applicationsAsTable(std::string_view agent_object);

}  // namespace rdmove::cli
