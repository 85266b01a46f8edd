// The options of `virsh migrate` that `rdmove migrate` does not take, each with the sentence that says why.
// Those that it takes are in command_line.cpp; docs/cli.md lists all of them. Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmove::cli {

/// `word` as it was typed ("--dname" or "--dname=vm2"): "--dname: a VM keeps its name: ...". Nothing for any
/// other word.
std::optional<std::string> virshFlagRefusal(std::string_view word);

/// All names, "--live" first: for the tests.
std::vector<std::string_view> refusedVirshFlags();

}  // namespace rdmove::cli
