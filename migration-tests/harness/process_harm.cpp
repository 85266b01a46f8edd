// kill, stop and restart of each process; a host that is gone; the operator's cancel.
#include <fmt/format.h>

#include "migration-tests/harness/faults.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

std::string said(const Script& script, const std::string& attempt, seconds limit = seconds(60)) {
  const Ended ended = run(script, limit);
  if (ended.ok()) return "";
  return fmt::format("{}: {}", attempt, ended.late ? "no end" : ended.output);
}

class ProcessHarm : public Harm {
 public:
  ProcessHarm(const Fault& fault, const Cast& cast) : fault_(fault), cast_(cast) {}

  std::string begin() override {
    if (fault_.process == Process::kCommand && fault_.kind == FaultKind::kKill) {
      cast_.kill_command();
      return "";
    }
    if (fault_.kind == FaultKind::kRestart) {
      // One that a scenario holds hears of it when it goes on.
      if (fault_.process == Process::kDaemon)
        run(host().on(fmt::format("kill -TERM {0}; kill -CONT {0}", daemonPid(host()))));
      return said(stopping(), "stop it");
    }
    return said(signal(fault_.kind == FaultKind::kKill ? "KILL" : "STOP"), "signal it");
  }

  std::string end() override {
    if (fault_.kind == FaultKind::kStop) {
      // Who ended meanwhile has nothing to go on with.
      run(signal("CONT"));
      return "";
    }
    switch (fault_.process) {
      case Process::kDaemon:
        return startDaemon(host(), "");
      case Process::kLibvirtd:
        return said(host().start_libvirtd, "start libvirtd again");
      case Process::kAgent:
        return said(cast_.vm->in(cast_.vm->start_agent), "start the agent again");
      default:
        return "";
    }
  }

 private:
  const Host& host() const { return cast_.host(fault_.side); }

  Script stopping() const {
    if (fault_.process == Process::kAgent) return cast_.vm->in(cast_.vm->stop_agent);
    return fault_.process == Process::kDaemon ? host().stop_daemon : host().stop_libvirtd;
  }

  Script signal(const char* name) const {
    switch (fault_.process) {
      case Process::kDaemon:
        return host().on(fmt::format("kill -{} {}", name, daemonPid(host())));
      case Process::kLibvirtd:
        return host().on(fmt::format("kill -{} $({})", name, host().libvirtd_pid));
      case Process::kQemu:
        return host().on(fmt::format("kill -{} $(cat /run/libvirt/qemu/{}.pid)", name, cast_.vm_name));
      default:
        return cast_.vm->in(fmt::format("kill -{} $(pidof rdmove-agent)", name));
    }
  }

  const Fault& fault_;
  const Cast& cast_;
};

class HostGone : public Harm {
 public:
  HostGone(const Fault& fault, const Cast& cast) : host_(cast.host(fault.side)) {}
  std::string begin() override { return said(host_.power_off, "power the host off", seconds(120)); }
  std::string end() override { return said(host_.power_on, "power the host on", seconds(600)); }

 private:
  const Host& host_;
};

class Cancel : public Harm {
 public:
  explicit Cancel(const Cast& cast) : cast_(cast) {}

  /// It is asked for while the daemon stands still, and answered when that goes on.
  std::string begin() override {
    asked_ = std::make_unique<Child>(
        cast_.source->on(cast_.source->rdmoveWords() + "cancel " + cast_.migration()).words());
    return "";
  }
  void clear() override { asked_.reset(); }

 private:
  const Cast& cast_;
  std::unique_ptr<Child> asked_;
};

}  // namespace

std::string daemonPid(const Host& host) {
  return fmt::format("$(cat '{}/journal.db.lock')", host.state_dir);
}

std::string startDaemon(const Host& host, const std::string& stop_at) {
  Script script = host.start_daemon;
  script.text = fmt::format("export RDMOVE_STOP_AT='{}'; {}", stop_at, script.text);
  return said(script, "start rdmoved on " + host.name);
}

std::unique_ptr<Harm> harmOf(const Fault& fault, const Cast& cast) {
  switch (fault.kind) {
    case FaultKind::kKill:
    case FaultKind::kStop:
    case FaultKind::kRestart:
      return std::make_unique<ProcessHarm>(fault, cast);
    case FaultKind::kHostGone:
      return std::make_unique<HostGone>(fault, cast);
    case FaultKind::kCancel:
      return std::make_unique<Cancel>(cast);
    case FaultKind::kNetwork:
      return networkHarm(fault, cast);
    case FaultKind::kJournal:
    case FaultKind::kClock:
      return journalHarm(fault, cast);
    default:
      return guestHarm(fault, cast);
  }
}

}  // namespace rdmove::harness
