// libvirt's migration, started or adopted; and the arrival's progress.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/departure_session.hpp"
#include "coordinator/migration/traffic.hpp"

namespace rdmove {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{1000};
constexpr std::chrono::milliseconds kFollowAgain{500};

/// The definition for the destination: ours, each moving device bound to the VF that the partner leased. Left
/// to itself libvirt would define it there with this host's VF, and the next cold start would look for a
/// device that is not there.
Result<std::optional<std::string>> persistXml(Hypervisor& hypervisor, const Plan& plan,
                                              const std::vector<LeasedVf>& leases) {
  if (!plan.persistent) return std::optional<std::string>();
  auto xml = hypervisor.xml(plan.uuid, XmlKind::kInactive);
  if (!xml) return tl::unexpected(xml.error());
  std::string text = std::move(*xml);
  for (const LeasedVf& lease : leases) {
    auto replaced = replaceDevice(text, lease.alias, lease.device_xml);
    if (!replaced) return tl::unexpected(replaced.error());
    text = std::move(*replaced);
  }
  return std::optional<std::string>(std::move(text));
}

}  // namespace

void DepartureSession::transfer(Attempt attempt) {
  transfer_attempt_ = attempt;
  agent_.reset();  // the port goes with the domain
  if (transfer_started_) return adoptTransfer();
  transfer_started_ = true;
  if (auto written = services_.journal.setFact(record_.id, record_.role, "transfer-started", "yes");
      !written) {
    return later([this, written] { transferEnded(written); });
  }
  startTransfer();
}

void DepartureSession::startTransfer() {
  transfer_running_ = true;
  watchProgress();
  offload<void>(
      [this, plan = plan_, leases = leases_, partner = partnerConfig()]() -> Result<void> {
        const auto before = services_.hypervisor.find(plan.uuid.str());
        if (before && before->run_reason == RunReason::kMigrationCanceled) {
          later([this] {
            canceled_before_ = true;
            remember("canceled-before", "yes");
          });
        }
        auto persist = persistXml(services_.hypervisor, plan, leases);
        if (!persist) return tl::unexpected(persist.error());
        MigrationRequest request;
        request.domain = plan.uuid;
        request.destination_uri = partner.libvirt_uri;
        request.migration_uri = plan.options.migrate_uri;
        if (!request.migration_uri && !partner.migration_uri.empty())
          request.migration_uri = partner.migration_uri;
        request.persist_xml = std::move(*persist);
        request.persistent = plan.persistent;
        request.postcopy = plan.options.postcopy;
        request.auto_converge = plan.options.auto_converge;
        request.copy_storage_all = plan.options.copy_storage_all;
        request.tls = plan.options.tls || partner.stream_tls;
        request.bandwidth_mib = plan.options.bandwidth_mib;
        request.parallel_connections = plan.options.parallel_connections;
        return services_.hypervisor.migrate(request);
      },
      [this](Result<void> result) {
        transfer_running_ = false;
        note(result ? "libvirt's migrate call returned"
                    : "libvirt's migrate call failed: " + result.error().sentence());
        transferEnded(std::move(result));
      });
}

/// A restarted daemon finds the job that its predecessor started: it runs on, or has ended one way or the
/// other.
void DepartureSession::adoptTransfer() {
  adopting_ = true;
  offload<DomainStatus>([this, uuid = plan_.uuid] { return services_.hypervisor.find(uuid.str()); },
                        [this](Result<DomainStatus> status) {
                          if (!adopting_ || transfer_over_) return;
                          if (!status && status.error().code != ErrorCode::kNotFound)
                            return watchProgress();  // asked again at its tick
                          const DomainState state = status ? status->state : DomainState::kAbsent;
                          if (state == DomainState::kAbsent || state == DomainState::kShutOff) {
                            // It has left, or it has ended: the partner knows.
                            return transferEnded(failure(ErrorCode::kUnavailable, "migrate " + plan_.domain,
                                                         "it went from here while nobody looked"));
                          }
                          if (status->migration_job) {
                            if (!told_adoption_) note("adopted libvirt's running job");
                            told_adoption_ = true;
                            return watchProgress();
                          }
                          // Cancelled, and not failed: whoever began it may begin it again.
                          transferEnded(failure(ErrorCode::kCancelled, "migrate " + plan_.domain,
                                                "libvirt's job ended and the domain is still here (" +
                                                    status->state_text + ")"));
                        });
}

void DepartureSession::transferEnded(Result<void> result) {
  if (transfer_over_) return;
  transfer_over_ = true;
  adopting_ = false;
  progress_timer_.reset();
  if (!samples_.empty()) remember(kTransferSamples, samples_.json());
  if (transfer_attempt_) {
    const Attempt attempt = *transfer_attempt_;
    transfer_attempt_.reset();
    answer(Step::kTransfer, attempt, std::move(result));
  }
  checkArrival();
}

/// A job that has not begun yet, or is just being locked, takes no abort: asked again at each tick until it
/// has ended.
void DepartureSession::abortTransfer() {
  abort_wanted_ = true;
  offload<void>([this, uuid = plan_.uuid] { return services_.hypervisor.abortJob(uuid); },
                [this](Result<void> aborted) {
                  if (!aborted)
                    spdlog::debug("migration={} abort: {}", record_.id.str(), aborted.error().sentence());
                });
}

void DepartureSession::watchProgress() {
  progress_timer_ = services_.timers.after(kProgressInterval, [this, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || transfer_over_) return;
    readProgress(false);
    if (abort_wanted_) abortTransfer();
    // A job that fails gives no event here when we did not start it ourselves: its absence is the word then.
    if (adopting_) return adoptTransfer();
    watchProgress();
  });
}

void DepartureSession::onMigrationIteration(int iteration) {
  if (!transfer_started_ || transfer_over_) return;
  if (mover_attempt_) return lookForMover();
  const bool switch_now = plan_.options.postcopy && iteration >= 2 && !postcopy_asked_;
  if (switch_now) postcopy_asked_ = true;
  readProgress(switch_now);
}

void DepartureSession::readProgress(bool start_postcopy) {
  offload<JobProgress>(
      [this, uuid = plan_.uuid, start_postcopy]() -> Result<JobProgress> {
        if (start_postcopy) {
          if (auto started = services_.hypervisor.startPostcopy(uuid); !started)
            return tl::unexpected(started.error());
        }
        return services_.hypervisor.progress(uuid);
      },
      [this](Result<JobProgress> progress) {
        if (!progress)
          return spdlog::debug("migration={} progress: {}", record_.id.str(), progress.error().sentence());
        if (!progress->active || transfer_over_) return;
        progress_ = *progress;
        samples_.add(services_.clock.now().wall, progress_);
        publish("");
      });
}

void DepartureSession::awaitArrival(Attempt attempt) {
  arrival_attempt_ = attempt;
  if (!following_) follow();
  // After a restart, or when the call ended with an error past the switch, look at what is.
  if (!transfer_over_ && !transfer_running_) adoptTransfer();
  // What libvirt resumed while nobody looked gives no event any more.
  if (!transfer_running_) pauseSecondCopy();
  later([this] { checkArrival(); });
}

void DepartureSession::checkArrival() {
  if (arrival_attempt_ && word_) {
    ended_there_ = word_ == OperatorWord::kRunsThere
                       ? "the operator saw it run there; whether it is whole was not told"
                       : "it ended with that host, as the operator said";
    note(ended_there_);
    return answer(Step::kAwaitArrival, *std::exchange(arrival_attempt_, std::nullopt), {});
  }
  if (!arrival_attempt_ || !report_) return;
  if (report_->outcome == Outcome::kDegraded) {
    return sayDegraded(Error{ErrorCode::kUnavailable,
                             "bring the RDMA device back on " + plan_.destination.str(), report_->error,
                             "It is tried again by itself; see rdmove show on that host."});
  }
  if (!isFinished(report_->outcome) && transfer_over_ && !report_->arrived) askWhetherItCame();
  if (!isFinished(report_->outcome) || !transfer_over_) return;
  if (report_->outcome != Outcome::kCompleted) {
    // The domain ended there, or has moved on: nothing of it is left to wait for here.
    ended_there_ = "its arrival ended as " + std::string(toString(report_->outcome)) + ". " + report_->error;
    note(ended_there_);
  }
  const Attempt attempt = *arrival_attempt_;
  arrival_attempt_.reset();
  answer(Step::kAwaitArrival, attempt, {});
}

/// It has left, and its arrival still waits for it: a domain that ended there unseen, with its host perhaps,
/// never comes, and we would renew the lease for ever. The arrival is made to look; when nothing is there it
/// ends.
void DepartureSession::askWhetherItCame() {
  constexpr std::chrono::milliseconds kMayStillCome{2000};
  if (ask_there_) return;
  ask_there_ = services_.timers.after(kMayStillCome, [this, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !arrival_attempt_) return;
    offload<WithdrawAnswer>(
        [this, plan = plan_]() -> Result<WithdrawAnswer> {
          const auto partner = services_.partners.find(plan.destination);
          if (!partner) return tl::unexpected(partner.error());
          return (*partner)->withdraw(plan.id, false);
        },
        [this](const Result<WithdrawAnswer>&) {
          ask_there_.reset();
          checkArrival();
        });
  });
}

void DepartureSession::follow() {
  const auto partner = services_.partners.find(plan_.destination);
  if (!partner) return followLater(partner.error());
  following_ = (*partner)->follow(
      record_.id,
      [this, weak = weak_from_this()](ArrivalReport report) {
        if (const auto self = weak.lock()) partnerReported(std::move(report));
      },
      [this, weak = weak_from_this()](const Error& error) {
        if (const auto self = weak.lock()) followLater(error);
      });
}

void DepartureSession::followLater(const Error& error) {
  if (ended() || (report_ && isFinished(report_->outcome))) return;
  spdlog::debug("migration={} follow: {}", record_.id.str(), error.sentence());
  const auto now = services_.clock.now().boot;
  if (partner_heard_.count() == 0) partner_heard_ = now;
  if (arrival_attempt_ && now - partner_heard_ > services_.config.timeouts.attach_budget) {
    sayDegraded(Error{ErrorCode::kUnavailable, "hear from " + plan_.destination.str(), error.cause,
                      "The domain runs there; bring its rdmoved back, and this ends by itself. If that host is "
                      "lost, see rdmove resolve " +
                          record_.id.str() + "."});
  }
  follow_again_ = services_.timers.after(kFollowAgain, [this, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !ended()) follow();
  });
}

void DepartureSession::partnerReported(ArrivalReport report) {
  if (ended()) return;
  partner_heard_ = services_.clock.now().boot;
  const bool news = !report_ || report_->phase != report.phase;
  if (!report.traffic_after.empty() && (!report_ || report_->traffic_after != report.traffic_after)) {
    remember(kTrafficAfter, trafficToJson(report.traffic_after));
  }
  report_ = std::move(report);
  if (auto kept = services_.journal.keepPartnerSteps(record_.id, record_.role, report_->steps); !kept) {
    spdlog::error("migration={} journal: {}", record_.id.str(), kept.error().sentence());
  }
  if (news) {
    services_.bulletin.publish(
        {record_, progress_, plan_.destination.str() + ": " + report_->phase, report_->phase});
  }
  if (report_->arrived && (transfer_started_ || announced_)) arrivedThere();
  checkArrival();
}

}  // namespace rdmove
