#include "coordinator/cli/commands/agent_watch.hpp"

#include <condition_variable>
#include <mutex>

#include "coordinator/cli/daemon.hpp"
#include "coordinator/cli/format/traffic.hpp"
#include "coordinator/cli/interrupt.hpp"
#include "coordinator/cli/terminal.hpp"

namespace rdmove::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleeps that Ctrl-C ends.
class Pauses {
 public:
  /// False: interrupted.
  bool until(Clock::time_point when) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_until(lock, when, [this] { return over_; });
  }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  Interrupt interrupt_{[this] { end(); }};
};

struct Look {
  Ports ports;
  Clock::time_point at;
};

tl::expected<Look, Failure> look(Daemon& daemon, const std::string& domain) {
  v1::QueryAgentRequest request;
  request.set_domain(domain);
  request.set_method("counters");
  const auto reply = daemon.call(&Daemon::Stub::QueryAgent, request);
  const auto at = Clock::now();
  if (!reply) return tl::unexpected(reply.error());
  auto ports = readPorts(reply->json());
  if (ports) return Look{std::move(*ports), at};
  return tl::unexpected(Failure{ExitCode::kRefused,
                                "the guest's rdmove-agent is too old to be watched: it has no common names "
                                "for its counters; update it."});
}

}  // namespace

ExitCode AgentWatchCommand::run(Session& session) {
  Pauses pauses;
  auto& out = session.terminal.out;
  std::optional<Look> before;
  for (;;) {
    auto now = look(session.daemon, domain_);
    if (!now) return session.terminal.fail(now.error());
    std::optional<Rates> rates;
    if (before) {
      const std::chrono::duration<double> between = now->at - before->at;
      rates = Rates{perSecond(before->ports, now->ports, between), between};
    }
    if (form_ == OutputForm::kJson) {
      out << portsAsJson(now->ports, rates);
    } else {
      out << (rates ? portsAsTable(rates->ports, Counted::kPerSecond)
                    : portsAsTable(now->ports, Counted::kInAll));
    }
    out << std::flush;
    before = std::move(*now);
    if (!pauses.until(before->at + interval_)) return ExitCode::kDone;
  }
}

}  // namespace rdmove::cli
