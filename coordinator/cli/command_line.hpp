// Reads the command line with CLI11, the only file that knows it, and makes the command. Pure but for the
// environment (RDMOVE_SOCKET). Main thread only.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/command_tree.hpp"
#include "coordinator/cli/format/formatter.hpp"

namespace rdmove::cli {

inline constexpr const char* kDefaultSocket = "/run/rdmove/rdmoved.sock";

/// Something to do with the daemon.
struct Invocation {
  std::string socket;
  OutputForm form = OutputForm::kText;
  std::unique_ptr<Command> command;
};

/// Something to print, with no daemon: help, version, a man page, the completion script.
struct Answer {
  std::string text;
};

/// What was typed is wrong: for stderr, exit code 2.
struct UsageError {
  std::string text;
};

using CommandLine = std::variant<Invocation, Answer, UsageError>;

/// `arguments` without the program's name.
CommandLine readCommandLine(const std::vector<std::string>& arguments);

/// All commands and options, for documents that are made from them.
CommandDoc describeCommands();

}  // namespace rdmove::cli
