// What was typed, and the ways in which commands add themselves and their options to the parser. Private to this
// folder: command_line.cpp puts it together. Main thread only.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "coordinator/cli/command.hpp"
#include "coordinator/cli/command_line.hpp"
#include "coordinator/cli/commands/define.hpp"
#include "coordinator/cli/commands/evacuate.hpp"
#include "coordinator/cli/commands/migrate.hpp"
#include "coordinator/cli/commands/prepare.hpp"
#include "coordinator/cli/values.hpp"

namespace rdmove::cli {

/// What was typed, and what to make of it when all of it is known to be right.
struct Typed {
  std::string root_socket = kDefaultSocket;  // before the command, or the environment's
  std::string socket;                        // after the command: wins
  bool json = false;
  bool parallel = false;
  bool watch = false;
  std::uint32_t interval = 1;
  bool force = false;
  std::string vm, dest, id, svg_file, html_file, output_file, method, word;
  std::uint32_t newest = 0;
  MigrateCommandOptions migrate;
  PrepareOptions prepare;
  EvacuateOptions evacuate;
  DefineOptions define;
  std::function<std::unique_ptr<Command>()> make;
  std::function<std::string()> answer;
};

/// An option whose value `read` understands; what it does not becomes "NAME: sentence".
template <class Read, class Take>
CLI::Option* addRead(CLI::App& app, const std::string& name, const std::string& value,
                     const std::string& help, Read read, Take take) {
  const auto assign = [name, read, take](const std::string& text) {
    auto reading = read(text);
    if (!reading) throw CLI::ValidationError(name, reading.error());
    take(std::move(*reading));
  };
  return app.add_option_function<std::string>(name, assign, help)->type_name(value);
}

CLI::Option* addNumber(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& help, Range range, std::function<void(std::uint32_t)> take);
CLI::Option* addPositional(CLI::App& app, const std::string& name, const std::string& help,
                           std::string& target);
CLI::Option* addFile(CLI::App& app, const std::string& name, const std::string& help, std::string& target);
void addSocket(CLI::App& app, std::string& target);
CLI::App& addCommand(CLI::App& parent, Typed& typed, const std::string& name, const std::string& summary,
                     std::function<std::unique_ptr<Command>()> make);

/// migrate, evacuate, prepare, and what is about one migration: migration_commands.cpp.
void addMigrationCommands(CLI::App& root, Typed& typed);
/// VFs, agents, doctor, define: host_commands.cpp.
void addHostCommands(CLI::App& root, Typed& typed);

}  // namespace rdmove::cli
