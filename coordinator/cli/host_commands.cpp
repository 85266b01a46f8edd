// The commands about this host, its VFs and its VMs.
#include <fmt/format.h>

#include <set>

#include "coordinator/cli/commands/agent.hpp"
#include "coordinator/cli/commands/agent_watch.hpp"
#include "coordinator/cli/commands/doctor.hpp"
#include "coordinator/cli/commands/vf_list.hpp"
#include "coordinator/cli/commands/vf_show.hpp"
#include "coordinator/cli/typed.hpp"

namespace rdmove::cli {
namespace {

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

}  // namespace

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
  agent.add_option("QUERY", typed.method, "What to ask: status, apps, counters, holdouts or peers")
      ->type_name("status|apps|counters|holdouts|peers")
      ->required()
      ->check([](const std::string& text) {
        const bool known =
            text == "status" || text == "apps" || text == "counters" || text == "holdouts" || text == "peers";
        return known
                   ? ""
                   : fmt::format("'{}' is not a query; give status, apps, counters, holdouts or peers", text);
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
  addDefine(root, typed);
}

}  // namespace rdmove::cli
