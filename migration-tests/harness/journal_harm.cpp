// The disk under a journal, and the clock. The state folder gets a small file system of its own for the
// scenario: nobody wants the host's disk full.
#include <fmt/format.h>

#include "migration-tests/harness/faults.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

class JournalHarm : public Harm {
 public:
  JournalHarm(const Fault& fault, const Cast& cast) : fault_(fault), host_(cast.host(fault.side)) {}

  std::string prepare() override {
    if (!run(host_.stop_daemon, seconds(60)).ok()) return "rdmoved on " + host_.name + " can't be stopped";
    const std::string moved =
        carryOut(fmt::format("s='{}'; t=$(mktemp -d) && cp -a $s/. $t/ && mount -t tmpfs -o "
                             "size=24m,mode=0700 rdmove-failover $s && "
                             "cp -a $t/. $s/ && rm -rf $t",
                             host_.state_dir));
    mounted_ = moved.empty();
    return moved;
  }

  std::string begin() override {
    if (fault_.how == "full")
      return carryOut("dd if=/dev/zero of='" + host_.state_dir + "/filler' bs=4k 2>/dev/null; true");
    // The kernel makes nothing read-only that somebody writes to: it happens under a daemon that has just
    // died.
    return carryOut(
        fmt::format("kill -9 {0}; while [ -d /proc/{0} ]; do sleep 0.02; done; mount -o remount,ro '{1}'",
                    daemonPid(host_), host_.state_dir));
  }

  std::string end() override {
    if (fault_.how == "full") return carryOut("rm -f '" + host_.state_dir + "/filler'");
    // It must refuse to start on that, and say so.
    Script start = host_.start_daemon;
    start.text = "export RDMOVE_STOP_AT=; " + start.text;
    const bool started = run(start, seconds(60)).ok();
    const std::string writable = carryOut("mount -o remount,rw '" + host_.state_dir + "'");
    if (!writable.empty()) return writable;
    if (started) return "rdmoved started on a journal that can't be written";
    return startDaemon(host_, "");
  }

  void clear() override {
    if (!mounted_) return;
    run(host_.stop_daemon, seconds(60));
    carryOut(
        fmt::format("s='{}'; t=$(mktemp -d) && cp -a $s/. $t/ && umount $s && cp -a $t/. $s/ && rm -rf $t",
                    host_.state_dir));
    startDaemon(host_, "");
  }

 private:
  std::string carryOut(std::string script) const {
    const Ended ended = run(host_.on(std::move(script)), seconds(60));
    return ended.ok() ? "" : host_.name + ": " + ended.output;
  }

  const Fault& fault_;
  const Host& host_;
  bool mounted_ = false;
};

class ClockHarm : public Harm {
 public:
  ClockHarm(const Fault& fault, const Cast& cast) : step_(fault.clock_step), host_(cast.host(fault.side)) {}
  std::string begin() override { return jump(step_); }
  std::string end() override { return jump(-step_); }

 private:
  std::string jump(seconds step) const {
    const Ended ended = run(host_.on(fmt::format("date -s @$(( $(date +%s) + {} ))", step.count())));
    return ended.ok() ? "" : host_.name + ": " + ended.output;
  }

  seconds step_;
  const Host& host_;
};

}  // namespace

std::unique_ptr<Harm> journalHarm(const Fault& fault, const Cast& cast) {
  if (fault.kind == FaultKind::kClock) return std::make_unique<ClockHarm>(fault, cast);
  return std::make_unique<JournalHarm>(fault, cast);
}

std::string whyNot(const Fault& fault, const Site& site) {
  if (fault.kind == FaultKind::kClock && site.lab)
    return "the lab's hosts are namespaces of one kernel, whose wall clock is the machine's own";
  if (fault.kind == FaultKind::kHostGone) {
    for (const Host& host : site.hosts)
      if (host.power_off.text.empty() || host.power_on.text.empty())
        return "the hosts file has no power_off and power_on for " + host.name;
  }
  return "";
}

}  // namespace rdmove::harness
