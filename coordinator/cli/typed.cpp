#include "coordinator/cli/typed.hpp"

#include "coordinator/cli/help_texts.hpp"

namespace rdmove::cli {

CLI::Option* addNumber(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& help, Range range, std::function<void(std::uint32_t)> take) {
  return addRead(
      app, name, value, help, [range](const std::string& text) { return readNumber(text, range); },
      std::move(take));
}

CLI::Option* addPositional(CLI::App& app, const std::string& name, const std::string& help,
                           std::string& target) {
  return addRead(
      app, name, "", help, [](const std::string& text) { return readName(text); },
      [&target](std::string text) { target = std::move(text); });
}

CLI::Option* addFile(CLI::App& app, const std::string& name, const std::string& help, std::string& target) {
  return app.add_option(name, target, help)->type_name("FILE")->check([](const std::string& file) {
    return std::string(file.empty() ? "the file's name is empty" : "");
  });
}

void addSocket(CLI::App& app, std::string& target) {
  addRead(
      app, "--socket", "PATH",
      "rdmoved's unix socket (default: $RDMOVE_SOCKET, else /run/rdmove/rdmoved.sock)",
      [](const std::string& text) { return readSocketPath(text); },
      [&target](std::string text) { target = std::move(text); });
}

CLI::App& addCommand(CLI::App& parent, Typed& typed, const std::string& name, const std::string& summary,
                     std::function<std::unique_ptr<Command>()> make) {
  CLI::App& app = *parent.add_subcommand(name, summary);
  app.footer(detailsOf(name));
  app.add_flag("--json", typed.json, "Print JSON, one object a line (docs/json.md)");
  addSocket(app, typed.socket);
  app.final_callback([&typed, make = std::move(make)] { typed.make = make; });
  return app;
}

}  // namespace rdmove::cli
