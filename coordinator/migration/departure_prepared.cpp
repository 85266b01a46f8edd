// A VM that is prepared for another mover (`rdmove prepare`): its migration is waited for. And how what was prepared
// is taken back, whoever was to move it.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "coordinator/migration/departure_session.hpp"

namespace rdmove {
namespace {

/// No event says that another mover's job has begun: the one thing that is looked at again and again.
constexpr std::chrono::milliseconds kLookAgain{1000};
/// A partner that is silent is asked again so often before its word is done without: a migration of our own is over
/// when we say so, and seldom does another mover wait for that moment.
constexpr int askedAgain(Mover mover) {
  return mover == Mover::kAnother ? 3 : 1;
}

constexpr const char* kHeldUntil = "held-until";  // boot clock in ns, and the boot that it counts from

std::string inWords(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return seconds % 60 == 0 ? fmt::format("{} min", seconds / 60) : fmt::format("{} s", seconds);
}

}  // namespace

void DepartureSession::recallHold(const std::string& fact) {
  std::istringstream text(fact);
  std::int64_t until = 0;
  std::string boot_id;
  if (text >> until >> boot_id && boot_id == services_.clock.bootId())
    held_until_ = std::chrono::nanoseconds(until);
}

void DepartureSession::awaitMover(Attempt attempt) {
  mover_attempt_ = attempt;
  agent_.reset();  // the port goes with the domain
  if (transfer_started_) return lookForMover();
  transfer_started_ = true;  // from now on libvirt may be migrating
  held_until_ = services_.clock.now().boot + plan_.options.hold;
  remember(kHeldUntil, fmt::format("{} {}", held_until_.count(), services_.clock.bootId()));
  offload<DomainStatus>(
      [this, uuid = plan_.uuid] { return services_.hypervisor.find(uuid.str()); },
      [this](Result<DomainStatus> before) {
        if (before && before->run_reason == RunReason::kMigrationCanceled) {
          canceled_before_ = true;
          remember("canceled-before", "yes");
        }
        remember("transfer-started", "yes");
        publish(fmt::format(
            "{0} is prepared for {1}, for {2}: migrate it now, as with 'virsh migrate --live --p2p "
            "{0} {3}'. 'rdmove cancel {4}' takes it back.",
            plan_.domain, plan_.destination.str(), inWords(plan_.options.hold), partnerConfig().libvirt_uri,
            record_.id.str()));
        lookForMover();
      });
}

void DepartureSession::lookForMover() {
  if (!mover_attempt_) return;
  offload<DomainStatus>(
      [this, uuid = plan_.uuid]() -> Result<DomainStatus> {
        auto status = services_.hypervisor.find(uuid.str());
        if (!status && status.error().code == ErrorCode::kNotFound) return DomainStatus{};
        return status;
      },
      [this, attempt = *mover_attempt_](Result<DomainStatus> status) {
        if (mover_attempt_ != attempt || record_.phase != "Prepared") return;
        const bool waits =
            !status || (status->state == DomainState::kRunning && !status->migration_job &&
                        (status->run_reason != RunReason::kMigrationCanceled || canceled_before_));
        const bool suspended = status && status->state == DomainState::kPaused && !status->migration_job;
        if (!waits && !suspended) {
          note("another mover's migration has begun, or the domain has gone");
          mover_attempt_.reset();
          return answer(Step::kAwaitMover, attempt, {});
        }
        if (services_.clock.now().boot >= held_until_) {
          mover_attempt_.reset();
          return answer(Step::kAwaitMover, attempt,
                        failure(ErrorCode::kTimeout, "move " + plan_.domain,
                                "no migration followed within " + inWords(plan_.options.hold),
                                "Prepare it again, with a longer --hold."));
        }
        mover_timer_ = services_.timers.after(kLookAgain, [this, weak = weak_from_this()] {
          if (const auto self = weak.lock()) lookForMover();
        });
      });
}

/// The partner first: once it has taken its reservation back, its hook lets nothing in, so the device that is
/// attached here next has no rival.
void DepartureSession::recall(Attempt attempt) {
  announced_ = true;
  if (switched_) return settle(Step::kRecall, attempt);
  struct Word {
    bool there = false;
    bool left = false;  ///< it does not run here, or libvirt resumed it after a switch that nobody saw
  };
  offload<Word>(
      [this, plan = plan_, tries = recalls_++, before = canceled_before_]() -> Result<Word> {
        const std::string what = "take back what was prepared of " + plan.domain;
        const auto status = services_.hypervisor.find(plan.uuid.str());
        if (!status && status.error().code != ErrorCode::kNotFound) return tl::unexpected(status.error());
        if (status && status->migration_job) {
          return failure(ErrorCode::kConflict, what, "a migration of it runs",
                         "Wait for it, or end it with virsh domjobabort " + plan.domain + ".");
        }
        // Paused: an earlier try may have paused it, to ask first, and is to let it go on.
        const bool runs = status && status->state == DomainState::kRunning;
        if (!runs || (status->run_reason == RunReason::kMigrationCanceled && !before)) return Word{false, true};
        const auto partner = services_.partners.find(plan.destination);
        const auto answered = partner ? (*partner)->withdraw(plan.id, false)
                                      : Result<WithdrawAnswer>(tl::unexpected(partner.error()));
        if (answered) return Word{answered->running_there || answered->ran_there, false};
        // Looked at anew: a migration may have begun while the partner was waited for.
        const auto now = services_.hypervisor.find(plan.uuid.str());
        const bool stays = now && now->state == DomainState::kRunning && !now->migration_job;
        if (stays && tries >= askedAgain(plan.mover)) return Word{};
        return tl::unexpected(answered.error());
      },
      [this, attempt](Result<Word> word) {
        if (!word) return answer(Step::kRecall, attempt, tl::unexpected(word.error()));
        if (word->left) return settle(Step::kRecall, attempt);
        if (word->there) return arrivedThere();
        transfer_over_ = true;
        answer(Step::kRecall, attempt, {});
      });
}

}  // namespace rdmove
