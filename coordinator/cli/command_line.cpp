#include "coordinator/cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "coordinator/cli/commands/candidates.hpp"
#include "coordinator/cli/completion.hpp"
#include "coordinator/cli/help_texts.hpp"
#include "coordinator/cli/man.hpp"
#include "coordinator/cli/typed.hpp"
#include "coordinator/cli/virsh_flags.hpp"

namespace rdmove::cli {
namespace {

// For the build and for the completion script; group "" keeps them out of the help.
void addHidden(CLI::App& root, Typed& typed) {
  CLI::App& man = *root.add_subcommand("man", "Print a man page")->group("");
  man.add_option("COMMAND", typed.id)->capture_default_str();
  man.final_callback([&typed] { typed.answer = [&typed] { return manPage(describeCommands(), typed.id); }; });

  CLI::App& completion = *root.add_subcommand("completion", "Print the completion script")->group("");
  completion.add_option("WHAT", typed.id)->required()->check(CLI::IsMember({"bash", "ids", "vms", "hosts"}));
  addSocket(completion, typed.socket);
  completion.final_callback([&typed] {
    if (typed.id == "bash") {
      typed.answer = [] { return bashCompletion(describeCommands()); };
      return;
    }
    const Candidates what = typed.id == "ids"   ? Candidates::kIds
                            : typed.id == "vms" ? Candidates::kVms
                                                : Candidates::kHosts;
    typed.make = [what] { return std::make_unique<CandidatesCommand>(what); };
  });
}

std::unique_ptr<CLI::App> makeApp(Typed& typed) {
  auto app = std::make_unique<CLI::App>("Move running VMs that own RDMA devices between hosts", "rdmove");
  app->get_formatter()->column_width(34);
  app->footer(detailsOf("rdmove"));
  app->set_version_flag("--version", "rdmove " RDMOVE_VERSION, "Print the version");
  addSocket(*app, typed.root_socket);
  app->get_option("--socket")->envname("RDMOVE_SOCKET");
  app->require_subcommand(0, 1);
  addMigrationCommands(*app, typed);
  addHostCommands(*app, typed);
  addHidden(*app, typed);
  return app;
}

/// The deepest command that was named, and its full name.
std::pair<const CLI::App*, std::string> named(const CLI::App& root) {
  const CLI::App* app = &root;
  std::string name = root.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    name += ' ' + app->get_name();
  }
  return {app, name};
}

/// Whoever types an option of virsh learns what becomes of it, whatever else is wrong with the line.
std::optional<std::string> virshRefusal(const CLI::App& app) {
  if (app.get_name() != "migrate") return std::nullopt;
  for (const std::string& word : app.remaining()) {
    if (auto refusal = virshFlagRefusal(word)) return refusal;
  }
  return std::nullopt;
}

UsageError usageError(const CLI::App& root, const std::string& problem) {
  const auto [app, name] = named(root);
  const auto rest = root.remaining();
  std::string text = virshRefusal(*app).value_or(problem);
  if (app == &root && !rest.empty() && rest.front()[0] != '-')
    text = fmt::format("there is no command '{}'", rest.front());
  if (!text.empty() && text.back() != '.') text += '.';
  return {fmt::format("{}: {}\n'{} --help' says how it is used.\n", name, text, name)};
}

/// CLI11 counts ("At Most 1 required but received 2"); people are told what to change.
std::string sentenceFor(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (error.get_name() != "ArgumentMismatch") return text;
  const std::string option = text.substr(0, text.find(':'));
  if (text.find("received") != std::string::npos) return option + ": given more than once";
  return option + ": its value is missing";
}

CommandDoc describe(const CLI::App& app) {
  CommandDoc doc{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    OptionDoc& added = doc.options.emplace_back();
    added.positional = option->get_positional() && option->get_lnames().empty();
    added.name = added.positional ? option->get_name() : "--" + option->get_lnames().front();
    if (!option->get_snames().empty()) added.short_name = "-" + option->get_snames().front();
    added.value = option->get_type_size() == 0 ? "" : option->get_type_name();
    added.help = option->get_description();
    added.required = option->get_required();
    added.repeatable = option->get_items_expected_max() > 1;
  }
  std::stable_sort(doc.options.begin(), doc.options.end(),
                   [](const OptionDoc& a, const OptionDoc& b) { return a.positional && !b.positional; });
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); })) {
    doc.commands.push_back(describe(*command));
  }
  return doc;
}

}  // namespace

CommandLine readCommandLine(const std::vector<std::string>& arguments) {
  Typed typed;
  const auto app = makeApp(typed);
  try {
    app->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    if (typed.answer) return Answer{typed.answer()};
    if (!typed.make) return usageError(*app, "name a command");
    Invocation invocation;
    invocation.command = typed.make();
    invocation.socket = typed.socket.empty() ? typed.root_socket : typed.socket;
    invocation.form = typed.json ? OutputForm::kJson : OutputForm::kText;
    return invocation;
  } catch (const CLI::CallForHelp&) {
    const auto [deepest, name] = named(*app);
    return Answer{deepest->help(name.substr(0, name.rfind(' ') == std::string::npos ? 0 : name.rfind(' ')))};
  } catch (const CLI::CallForVersion& version) {
    return Answer{std::string(version.what()) + '\n'};
  } catch (const CLI::ParseError& error) {
    return usageError(*app, sentenceFor(error));
  }
}

CommandDoc describeCommands() {
  Typed typed;
  return describe(*makeApp(typed));
}

}  // namespace rdmove::cli
