// A session is one migration on one host: it owns the machine's memory (plan, leases, links) and does what
// the machine asks, in workers, handing results back as events. This base keeps journal, timeline, timers and
// listeners; DepartureSession and ArrivalSession know the steps. Loop thread only, unless said otherwise.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "coordinator/agentlink/agent_link.hpp"
#include "coordinator/base/clock.hpp"
#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/migration/agent_desk.hpp"
#include "coordinator/migration/bulletin.hpp"
#include "coordinator/migration/executors.hpp"
#include "coordinator/migration/fabric_watch.hpp"
#include "coordinator/migration/machine.hpp"
#include "coordinator/migration/partner.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove {

/// All that a session works with; owned by the daemon, which outlives its sessions.
struct Services {
  boost::asio::io_context& loop;
  Workers& workers;
  Timers& timers;
  Hypervisor& hypervisor;
  Fabric& fabric;
  Journal& journal;
  AgentDesk& agents;
  Partners& partners;
  Bulletin& bulletin;
  const Clock& clock;
  const Config& config;
  SubnetOpener subnets = [](const PoolName&) { return std::nullopt; };
  /// Called when a phase is journaled and nothing of it is done yet; tests stop the daemon there.
  std::function<void(Role, const std::string&)> entered = [](Role, const std::string&) {};
  /// What tells the ids of a day apart.
  std::function<unsigned()> random = [] { return std::random_device{}(); };
};

/// The fact that keeps the first cause of a failure has its kind in its name, where somebody else goes on by
/// it: kExhausted and kCancelled (the daemon was started anew) are what an evacuation tries again.
std::string blameFact(ErrorCode code);
/// The kind of a fact's name; nullopt: it is no blame. kInternal: none of those.
std::optional<ErrorCode> blameOf(const std::string& fact_name);

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Services& services, MigrationRecord record);
  virtual ~Session() = default;

  const MigrationRecord& record() const { return record_; }
  virtual bool ended() const = 0;

  virtual void onLifecycle(Lifecycle, LifecycleDetail) {}
  virtual void onDeviceRemoved(const DeviceAlias&) {}
  virtual void onDeviceRemovalFailed(const DeviceAlias&) {}
  virtual void onMigrationIteration(int) {}
  virtual void onJobCompleted() {}
  /// Events may have been missed: look again.
  virtual void onReconnected() {}

 protected:
  // What both machines' actions have in common; the derived classes forward to these.
  void enterPhase(const std::string& phase);
  void leavePhase(const std::string& phase, bool failed);
  TimerId armTimer(std::chrono::milliseconds after);
  void disarmTimer(TimerId timer);
  void keepBlame(const Error& error);
  void sayDegraded(const Error& error);
  /// `message` is what the operator is told when it is completed; another end tells the blame.
  void finish(Outcome outcome, const std::string& message);
  void note(const std::string& text);
  /// The guest has just done `what`, and says how long it took: a bar of the timeline.
  void guestDid(const std::string& what, std::chrono::milliseconds took);
  /// The guest has its devices back: how long that took, what it has, and what is not as it was.
  void guestTookUp(const RestoreOutcome& outcome);
  void publish(const std::string& message);
  /// The journal refused the phase's intent: before the point of no return nothing may be done then.
  /// A refusal is asked about again each time, since there may be room meanwhile.
  bool intentJournaled();
  static Error unjournaled();

  virtual void timerPassed(TimerId timer) = 0;

  /// Runs `work` in a worker and `then` on the loop. The session lives until then, and ends on the loop.
  template <class T>
  void offload(std::function<Result<T>()> work, std::function<void(Result<T>)> then) {
    services_.workers.run(
        [self = shared_from_this(), work = std::move(work), then = std::move(then)]() mutable {
          Result<T> result = guarded<T>(work);
          auto& loop = self->services_.loop;
          boost::asio::post(loop, [self = std::move(self), then = std::move(then),
                                   result = std::move(result)]() mutable { then(std::move(result)); });
        });
  }

  /// Runs `what` on the loop, later, if the session is still there.
  void later(std::function<void()> what);

  Services& services_;
  MigrationRecord record_;
  JobProgress progress_;
  std::string blame_;  ///< the first cause, as a sentence

 private:
  template <class T>
  static Result<T> guarded(const std::function<Result<T>()>& work) {
    try {
      return work();
    } catch (const std::exception& error) {
      return failure(ErrorCode::kInternal, "do a step", error.what());
    }
  }

  std::map<TimerId, std::unique_ptr<Timer>> timers_;
  std::unique_ptr<Timer> finish_again_;
  std::uint64_t last_timer_ = 0;
  bool intent_journaled_ = true;
};

}  // namespace rdmove
