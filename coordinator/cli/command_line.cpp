#include "coordinator/cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "coordinator/cli/commands/agent.hpp"
#include "coordinator/cli/commands/agent_watch.hpp"
#include "coordinator/cli/commands/cancel.hpp"
#include "coordinator/cli/commands/candidates.hpp"
#include "coordinator/cli/commands/define.hpp"
#include "coordinator/cli/commands/doctor.hpp"
#include "coordinator/cli/commands/export.hpp"
#include "coordinator/cli/commands/list.hpp"
#include "coordinator/cli/commands/migrate.hpp"
#include "coordinator/cli/commands/prepare.hpp"
#include "coordinator/cli/commands/report.hpp"
#include "coordinator/cli/commands/resolve.hpp"
#include "coordinator/cli/commands/show.hpp"
#include "coordinator/cli/commands/timeline.hpp"
#include "coordinator/cli/commands/vf_list.hpp"
#include "coordinator/cli/commands/vf_show.hpp"
#include "coordinator/cli/commands/watch.hpp"
#include "coordinator/cli/completion.hpp"
#include "coordinator/cli/help_texts.hpp"
#include "coordinator/cli/man.hpp"
#include "coordinator/cli/values.hpp"
#include "coordinator/cli/virsh_flags.hpp"

namespace rdmove::cli {
namespace {

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

void addMigrate(CLI::App& root, Typed& typed) {
  CLI::App& app =
      addCommand(root, typed, "migrate", "Move a VM with its RDMA devices to another host", [&typed] {
        typed.migrate.form = typed.json ? OutputForm::kJson : OutputForm::kText;
        typed.migrate.request.set_domain(typed.vm);
        typed.migrate.request.set_destination(typed.dest);
        v1::MigrateOptions& given = *typed.migrate.request.mutable_options();
        if (typed.parallel && given.parallel_connections() == 0) {
          given.set_parallel_connections(kParallelAlone);
        }
        return std::make_unique<MigrateCommand>(typed.migrate);
      });
  v1::MigrateOptions& options = *typed.migrate.request.mutable_options();
  const auto flag = [&](const std::string& name, const std::string& help, auto set) {
    app.add_flag_callback(
        name, [&options, set] { (options.*set)(true); }, help);
  };
  addPositional(app, "VM", "The VM: its name or UUID in libvirt", typed.vm)->required();
  addPositional(app, "DEST", "The destination: a partner in rdmoved's configuration", typed.dest)->required();
  app.add_flag("--dry-run", typed.migrate.dry_run,
               "Print the plan or every reason against it; change nothing");
  app.add_flag("--verbose", typed.migrate.verbose,
               "Show the phase, the bytes left and the dirty rate as it runs");
  addNumber(app, "--timeout", "S", "Roll back if the transfer takes longer, in seconds", kTimeout,
            [&options](std::uint32_t s) { options.set_timeout_ms(s * 1000); });
  addNumber(app, "--bandwidth", "MiB", "Limit the transfer, in MiB/s", kBandwidth,
            [&options](std::uint32_t mib) { options.set_bandwidth_mib(mib); });
  app.add_flag("--parallel", typed.parallel,
               "Transfer over several connections at once: 2, or N of the next option");
  addNumber(app, "--parallel-connections", "N",
            "Transfer over N connections at once; --parallel goes without saying", kParallelConnections,
            [&options](std::uint32_t n) { options.set_parallel_connections(n); });
  flag("--postcopy", "Switch to post-copy after the first pass, for a VM whose transfer does not converge",
       &v1::MigrateOptions::set_postcopy);
  flag("--auto-converge", "Slow the guest's CPUs until the transfer converges",
       &v1::MigrateOptions::set_auto_converge);
  flag("--copy-storage-all", "Copy the disks too, for hosts without shared storage",
       &v1::MigrateOptions::set_copy_storage_all);
  flag("--tls", "Encrypt the transfer", &v1::MigrateOptions::set_tls);
  addRead(
      app, "--migrateuri", "URI", "Where the transfer goes, if not where libvirt would choose",
      [](const std::string& text) { return readUri(text); },
      [&options](const std::string& uri) { options.set_migrate_uri(uri); });
  flag("--force", "Go on over processes in the guest that hold the device; they lose it",
       &v1::MigrateOptions::set_force);
  addNumber(app, "--prepare-deadline", "MS", "Time for applications in the guest to let go, in milliseconds",
            kPrepareDeadline, [&options](std::uint32_t ms) { options.set_prepare_deadline_ms(ms); });
}

void addPrepare(CLI::App& root, Typed& typed) {
  CLI::App& app = addCommand(root, typed, "prepare",
                             "Make a VM ready for a migration that another program does", [&typed] {
                               typed.prepare.form = typed.json ? OutputForm::kJson : OutputForm::kText;
                               typed.prepare.request.set_domain(typed.vm);
                               typed.prepare.request.set_destination(typed.dest);
                               return std::make_unique<PrepareCommand>(typed.prepare);
                             });
  v1::PrepareRequest& request = typed.prepare.request;
  addPositional(app, "VM", "The VM: its name or UUID in libvirt", typed.vm)->required();
  addPositional(app, "DEST", "The destination: a partner in rdmoved's configuration", typed.dest)->required();
  addRead(
      app, "--hold", "TIME", "Take it back when no migration has followed by then: 90s, 10m (default), 2h",
      [](const std::string& text) { return readDuration(text, kHold); },
      [&request](std::chrono::seconds hold) {
        request.set_hold_ms(static_cast<std::uint32_t>(hold.count()) * 1000);
      });
  app.add_flag("--verbose", typed.prepare.verbose, "Show the phases");
  app.add_flag_callback(
      "--force", [&request] { request.set_force(true); },
      "Go on over processes in the guest that hold the device; they lose it");
  addNumber(app, "--prepare-deadline", "MS", "Time for applications in the guest to let go, in milliseconds",
            kPrepareDeadline, [&request](std::uint32_t ms) { request.set_prepare_deadline_ms(ms); });
}

void addMigrationCommands(CLI::App& root, Typed& typed) {
  CLI::App& list = addCommand(root, typed, "list", "List the migrations of this host, the newest first",
                              [&typed] { return std::make_unique<ListCommand>(typed.newest); });
  addNumber(list, "--newest", "N", "At most N of them (default 50)", kNewest,
            [&typed](std::uint32_t n) { typed.newest = n; });

  CLI::App& show = addCommand(root, typed, "show", "Show all that the journal knows of one migration",
                              [&typed] { return std::make_unique<ShowCommand>(typed.id); });
  addPositional(show, "ID", "The migration; the start of its id is enough", typed.id)->required();

  CLI::App& watch =
      addCommand(root, typed, "watch", "Follow one migration to its end, or all until Ctrl-C", [&typed] {
        return std::make_unique<WatchCommand>(typed.id, typed.json ? OutputForm::kJson : OutputForm::kText);
      });
  addPositional(watch, "ID", "The migration; the start of its id is enough", typed.id);

  CLI::App& timeline = addCommand(
      root, typed, "timeline", "Show the begin and end of each phase, of both hosts and of the guest",
      [&typed] { return std::make_unique<TimelineCommand>(typed.id, typed.svg_file); });
  addPositional(timeline, "ID", "The migration; the start of its id is enough", typed.id)->required();
  addFile(timeline, "--svg", "Write a picture to FILE ('-' is stdout)", typed.svg_file)->excludes("--json");

  CLI::App& report =
      addCommand(root, typed, "report", "Write one page about a migration: picture, figures, steps",
                 [&typed] { return std::make_unique<ReportCommand>(typed.id, typed.html_file); });
  addPositional(report, "ID", "The migration; the start of its id is enough", typed.id)->required();
  addFile(report, "--html", "The page's file ('-' is stdout)", typed.html_file)
      ->required()
      ->excludes("--json");

  CLI::App& exported =
      addCommand(root, typed, "export", "Write all that a report of a defect needs into one file",
                 [&typed] { return std::make_unique<ExportCommand>(typed.id, typed.output_file); });
  addPositional(exported, "ID", "The migration; the start of its id is enough", typed.id)->required();
  addFile(exported, "--output", "The file (default: stdout)", typed.output_file);

  CLI::App& cancel = addCommand(root, typed, "cancel", "Cancel a migration: it rolls back",
                                [&typed] { return std::make_unique<CancelCommand>(typed.id); });
  addPositional(cancel, "ID", "The migration; the start of its id is enough", typed.id)->required();

  CLI::App& resolve =
      addCommand(root, typed, "resolve", "Say what only you can know when a host is lost for good", [&typed] {
        return std::make_unique<ResolveCommand>(typed.id, typed.word, typed.force);
      });
  addPositional(resolve, "ID", "The migration (the start of its id is enough), or a VM of this host", typed.id)
      ->required();
  const std::pair<const char*, const char*> kWords[] = {
      {"source-is-dead", "No VF of the source has the VM's identity, nor will have it again"},
      {"destination-is-dead", "The VM does not run at the destination, and will not by itself"},
      {"runs-there", "The VM was seen to run at the destination"}};
  std::vector<CLI::Option*> words;
  for (const auto& [word, help] : kWords) {
    CLI::Option* flag = resolve.add_flag_callback(
        "--" + std::string(word), [&typed, word = word] { typed.word = word; }, help);
    for (CLI::Option* other : words) flag->excludes(other);
    words.push_back(flag);
  }
  resolve.add_flag("--force", typed.force, "Although that host's rdmoved answers, and cannot tell");
}

void addDefine(CLI::App& root, Typed& typed) {
  CLI::App& app = addCommand(
      root, typed, "define", "Say which devices of a VM are RDMA devices, in its libvirt metadata", [&typed] {
        typed.define.domain = typed.vm;
        std::set<std::string> aliases;
        for (const VfSpec& vf : typed.define.vfs) {
          if (!aliases.insert(vf.alias.str()).second) {
            throw CLI::ValidationError("--vf", fmt::format("alias '{}' is given twice", vf.alias.str()));
          }
        }
        if (typed.define.vfs.empty() && !typed.define.remove) {
          throw CLI::ValidationError("--vf", "give it at least once, or --remove");
        }
        return std::make_unique<DefineCommand>(typed.define);
      });
  addPositional(app, "VM", "The VM: its name or UUID in libvirt", typed.vm)->required();
  const auto add_all = [&typed](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      auto spec = readVfSpec(text);
      if (!spec) throw CLI::ValidationError("--vf", spec.error());
      typed.define.vfs.push_back(std::move(*spec));
    }
  };
  CLI::Option* vf = app.add_option_function<std::vector<std::string>>(
      "--vf", add_all,
      "An RDMA device: alias=ALIAS,pool=POOL[,model=M][,continuity=C][,mac=MAC]; once for each");
  vf->type_name("SPEC")->allow_extra_args(false);
  CLI::Option* standby = addRead(
      app, "--standby", "ALIAS", "The paravirtual NIC that stays while the devices are away",
      [](const std::string& text) { return readAlias(text); },
      [&typed](std::string alias) { typed.define.standby = std::move(alias); });
  app.add_flag("--remove", typed.define.remove, "Take the metadata out")->excludes(vf)->excludes(standby);
  app.add_flag("--dry-run", typed.define.dry_run, "Print what would be written; change nothing");
}

void addHostCommands(CLI::App& root, Typed& typed) {
  CLI::App& vf = *root.add_subcommand("vf", "The VFs of this host's pools");
  vf.require_subcommand(0, 1);
  vf.final_callback([&vf] {
    if (vf.get_subcommands().empty()) throw CLI::RequiredError("A command ('list' or 'show')");
  });
  addCommand(vf, typed, "list", "List the VFs and who has them",
             [] { return std::make_unique<VfListCommand>(); });
  CLI::App& show = addCommand(vf, typed, "show", "Show all that is known of one VF",
                              [&typed] { return std::make_unique<VfShowCommand>(typed.id); });
  addPositional(show, "VF", "The VF, as 'rdmove vf list' names it: 0000:3b:00.2, br0#3", typed.id)
      ->required();

  CLI::App& agent =
      addCommand(root, typed, "agent", "Ask the agent in a guest", [&typed]() -> std::unique_ptr<Command> {
        if (!typed.watch) return std::make_unique<AgentCommand>(typed.vm, typed.method);
        if (typed.method != "counters") throw CLI::ValidationError("--watch", "only counters can be watched");
        return std::make_unique<AgentWatchCommand>(typed.vm, std::chrono::seconds(typed.interval),
                                                   typed.json ? OutputForm::kJson : OutputForm::kText);
      });
  addPositional(agent, "VM", "The VM: its name or UUID in libvirt", typed.vm)->required();
  agent.add_option("QUERY", typed.method, "What to ask: status, apps, counters or holdouts")
      ->type_name("status|apps|counters|holdouts")
      ->required()
      ->check([](const std::string& text) {
        const bool known = text == "status" || text == "apps" || text == "counters" || text == "holdouts";
        return known ? "" : fmt::format("'{}' is not a query; give status, apps, counters or holdouts", text);
      });
  CLI::Option* watch =
      agent.add_flag("--watch", typed.watch, "counters: show what is counted per second, until Ctrl-C");
  addNumber(agent, "--interval", "S", "Seconds between two looks (default 1)", kInterval,
            [&typed](std::uint32_t s) { typed.interval = s; })
      ->needs(watch);

  CLI::App& doctor =
      addCommand(root, typed, "doctor", "Check this host, a VM on it, or a VM and where it shall go",
                 [&typed] { return std::make_unique<DoctorCommand>(typed.vm, typed.dest); });
  addPositional(doctor, "VM", "The VM: its name or UUID in libvirt", typed.vm);
  addPositional(doctor, "DEST", "The destination: a partner in rdmoved's configuration", typed.dest);
}

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
  addMigrate(*app, typed);
  addPrepare(*app, typed);
  addMigrationCommands(*app, typed);
  addHostCommands(*app, typed);
  addDefine(*app, typed);
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
