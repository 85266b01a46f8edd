// The commands that start migrations, and those about one of them.
#include <utility>
#include <vector>

#include "coordinator/cli/commands/cancel.hpp"
#include "coordinator/cli/commands/export.hpp"
#include "coordinator/cli/commands/list.hpp"
#include "coordinator/cli/commands/report.hpp"
#include "coordinator/cli/commands/resolve.hpp"
#include "coordinator/cli/commands/show.hpp"
#include "coordinator/cli/commands/timeline.hpp"
#include "coordinator/cli/commands/watch.hpp"
#include "coordinator/cli/typed.hpp"

namespace rdmove::cli {
namespace {

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

void addEvacuate(CLI::App& root, Typed& typed) {
  CLI::App& app =
      addCommand(root, typed, "evacuate", "Move every VM with RDMA devices away from this host", [&typed] {
        typed.evacuate.form = typed.json ? OutputForm::kJson : OutputForm::kText;
        return std::make_unique<EvacuateCommand>(typed.evacuate);
      });
  v1::EvacuateRequest& request = typed.evacuate.request;
  const auto destination = [&request](const std::string& text) {
    const auto name = readName(text);
    if (!name) throw CLI::ValidationError("DEST", name.error());
    request.add_destinations(*name);
  };
  app.add_option_function<std::vector<std::string>>(
         "DEST",
         [destination](const std::vector<std::string>& names) {
           for (const std::string& name : names) destination(name);
         },
         "Where VMs may go: partners in rdmoved's configuration (default: all of them)")
      ->type_name("");
  addNumber(app, "--max-parallel", "N", "At most N VMs at a time (default 2)", kMaxParallel,
            [&request](std::uint32_t n) { request.set_max_parallel(n); });
  addNumber(app, "--per-fabric", "N", "At most N VMs with devices of one pool at a time", kMaxParallel,
            [&request](std::uint32_t n) { request.set_per_fabric(n); });
  app.add_flag_callback(
      "--peers-together", [&request] { request.set_peers_together(true); },
      "Let VMs that are connected to one another by RDMA move at the same time");
  app.add_flag("--dry-run", typed.evacuate.dry_run, "Print which VM would go where; change nothing");
  v1::MigrateOptions& options = *request.mutable_options();
  addNumber(app, "--bandwidth", "MiB", "Limit each transfer, in MiB/s", kBandwidth,
            [&options](std::uint32_t mib) { options.set_bandwidth_mib(mib); });
  const std::pair<const char*, void (v1::MigrateOptions::*)(bool)> kFlags[] = {
      {"--auto-converge", &v1::MigrateOptions::set_auto_converge},
      {"--copy-storage-all", &v1::MigrateOptions::set_copy_storage_all},
      {"--tls", &v1::MigrateOptions::set_tls},
      {"--force", &v1::MigrateOptions::set_force}};
  for (const auto& [name, set] : kFlags) {
    app.add_flag_callback(
        name, [&options, set = set] { (options.*set)(true); }, "As of 'rdmove migrate', for each VM");
  }
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

void addOneMigrations(CLI::App& root, Typed& typed) {
  CLI::App& list =
      addCommand(root, typed, "list", "List the evacuations and migrations of this host, the newest first",
                 [&typed] { return std::make_unique<ListCommand>(typed.newest); });
  addNumber(list, "--newest", "N", "At most N of them (default 50)", kNewest,
            [&typed](std::uint32_t n) { typed.newest = n; });

  CLI::App& show =
      addCommand(root, typed, "show", "Show all that the journal knows of one migration or evacuation",
                 [&typed] { return std::make_unique<ShowCommand>(typed.id); });
  addPositional(show, "ID", "The migration or evacuation; the start of its id is enough", typed.id)
      ->required();

  CLI::App& watch = addCommand(
      root, typed, "watch", "Follow one migration or evacuation to its end, or all until Ctrl-C", [&typed] {
        return std::make_unique<WatchCommand>(typed.id, typed.json ? OutputForm::kJson : OutputForm::kText);
      });
  addPositional(watch, "ID", "The migration or evacuation; the start of its id is enough", typed.id);

  CLI::App& timeline = addCommand(
      root, typed, "timeline", "Show the begin and end of each phase, of both hosts and of the guest",
      [&typed] { return std::make_unique<TimelineCommand>(typed.id, typed.svg_file); });
  addPositional(timeline, "ID", "The migration; the start of its id is enough", typed.id)->required();
  addFile(timeline, "--svg", "Write a picture to FILE ('-' is stdout)", typed.svg_file)->excludes("--json");

  CLI::App& report = addCommand(
      root, typed, "report", "Write one page about a migration or evacuation: picture, figures, steps",
      [&typed] { return std::make_unique<ReportCommand>(typed.id, typed.html_file); });
  addPositional(report, "ID", "The migration or evacuation; the start of its id is enough", typed.id)
      ->required();
  addFile(report, "--html", "The page's file ('-' is stdout)", typed.html_file)
      ->required()
      ->excludes("--json");

  CLI::App& exported =
      addCommand(root, typed, "export", "Write all that a report of a defect needs into one file",
                 [&typed] { return std::make_unique<ExportCommand>(typed.id, typed.output_file); });
  addPositional(exported, "ID", "The migration; the start of its id is enough", typed.id)->required();
  addFile(exported, "--output", "The file (default: stdout)", typed.output_file);

  CLI::App& cancel =
      addCommand(root, typed, "cancel", "Cancel a migration, which rolls back, or an evacuation",
                 [&typed] { return std::make_unique<CancelCommand>(typed.id); });
  addPositional(cancel, "ID", "The migration or evacuation; the start of its id is enough", typed.id)
      ->required();

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

}  // namespace

void addMigrationCommands(CLI::App& root, Typed& typed) {
  addMigrate(root, typed);
  addEvacuate(root, typed);
  addPrepare(root, typed);
  addOneMigrations(root, typed);
}

}  // namespace rdmove::cli
