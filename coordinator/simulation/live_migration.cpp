#include "coordinator/simulation/live_migration.hpp"

#include <fmt/format.h>

#include "coordinator/simulation/coordinator_process.hpp"

namespace rdmove::simulation {
namespace {

/// libvirt's keepalive: 5 s, five times, and one more.
constexpr Duration kKeepalive = seconds(30);

}  // namespace

LiveMigration::LiveMigration(World& world, Host& source, const Guest& guest, const MigrationRequest& request,
                             Done done)
    : world_(world),
      source_(source),
      destination_(world.other(source)),
      uuid_(guest.uuid),
      name_(guest.name),
      request_(request),
      done_(std::move(done)) {
  hooked_ = world.hooks;
  iterations_ = 1 + static_cast<int>(world.random.below(5));
}

/// What comes next, unless the migration has ended or gone another way meanwhile.
void LiveMigration::later(Duration time, Stage expected, void (LiveMigration::*what)()) {
  world_.agenda.after(time, [self = shared_from_this(), expected, what] {
    if (self->stage_ == expected) (self.get()->*what)();
  });
}

void LiveMigration::start() {
  definition_ =
      request_.persist_xml ? request_.persist_xml : here()->definition;  // libvirt copies the source's
  here()->job = Job::kOutgoing;
  later(world_.random.between(milliseconds(20), milliseconds(200)), Stage::kPreparing,
        &LiveMigration::prepared);
}

/// libvirt calls rdmove's hook on the destination, which asks the daemon.
bool LiveMigration::admitted() {
  if (!destination_.coordinator || destination_.coordinator->dying()) return false;
  return destination_.coordinator->coordinator().admit(uuid_, name_).has_value();
}

void LiveMigration::prepared() {
  if (!world_.network.openBothWays() || !destination_.libvirtd_up)
    return fail("the destination's libvirtd is out of reach");
  const Domain* present = there();
  if (present != nullptr && present->active()) return fail("the domain is active on the destination already");
  if (hooked_ && !admitted()) return fail("the hook refuses it");
  Domain& incoming = destination_.domains[uuid_];
  incoming.state = DomainState::kPausedByMigration;
  incoming.reason = RunReason::kOther;
  incoming.job = Job::kIncoming;
  world_.say(fmt::format("libvirt: {} comes in at {}", name_, destination_.name.str()));
  world_.lifecycle(destination_, uuid_, Lifecycle::kStarted, LifecycleDetail::kMigrated);
  stage_ = Stage::kCopying;
  later(world_.random.between(milliseconds(50), milliseconds(500)), Stage::kCopying, &LiveMigration::copy);
}

void LiveMigration::copy() {
  if (!world_.network.openBothWays()) {
    if (cut_since_ == Duration(0)) cut_since_ = world_.agenda.now();
    if (world_.agenda.now() - cut_since_ > kKeepalive) return fail("the connection was lost");
    return later(milliseconds(500), Stage::kCopying, &LiveMigration::copy);
  }
  cut_since_ = Duration(0);
  const Domain* domain = here();
  if (domain == nullptr || !domain->active()) return fail("the domain has ended");
  ++iteration_;
  world_.tell(source_, [uuid = uuid_, number = iteration_](HypervisorListener& to) {
    to.onMigrationIteration(uuid, number);
  });
  if (iteration_ >= iterations_ && !request_.postcopy) return switchOver();
  if (iteration_ >= iterations_ + 8) return switchOver();  // it converged before anybody asked for post-copy
  later(world_.random.between(milliseconds(100), milliseconds(1500)), Stage::kCopying, &LiveMigration::copy);
}

bool LiveMigration::startPostcopy() {
  if (stage_ != Stage::kCopying || !request_.postcopy || !world_.network.openBothWays()) return false;
  postcopy_ = true;
  switchOver();
  return true;
}

void LiveMigration::switchOver() {
  Domain* left = here();
  if (left == nullptr || !left->active()) return fail("the domain has ended");
  stage_ = Stage::kSwitching;
  left->state = postcopy_ ? DomainState::kPausedPostcopy : DomainState::kPausedByMigration;
  if (world_.at_switch) world_.at_switch();
  world_.lifecycle(source_, uuid_, Lifecycle::kSuspended,
                   postcopy_ ? LifecycleDetail::kPostcopy : LifecycleDetail::kMigrated);
  later(world_.random.between(milliseconds(2), milliseconds(120)), Stage::kSwitching, &LiveMigration::finish);
}

void LiveMigration::finish() {
  stage_ = Stage::kFinishing;
  // Post-copy that loses its stream is not simulated: nothing can save such a guest.
  if (!postcopy_) {
    later(kKeepalive + world_.random.between(Duration(0), seconds(3)), Stage::kFinishing,
          &LiveMigration::noWord);
    if (!world_.network.open(source_.number) || !destination_.libvirtd_up) {
      return destinationFailsAfter(kKeepalive);
    }
  }
  world_.agenda.after(world_.random.between(milliseconds(1), milliseconds(20)),
                      [self = shared_from_this()] { self->resumed(); });
}

void LiveMigration::resumed() {
  Domain* arrived = there();
  if (arrived == nullptr || arrived->job != Job::kIncoming || !destination_.powered) return;
  arrived->state = DomainState::kRunning;
  arrived->reason = postcopy_ ? RunReason::kPostcopy : RunReason::kMigrated;
  Guest& guest = *world_.guest(uuid_);
  guest.lives_on = destination_.number;
  guest.ended = false;  // its source may have lost power in between
  if (world_.at_switch) world_.at_switch();
  world_.say(fmt::format("libvirt: {} runs on {}{}", name_, destination_.name.str(),
                         postcopy_ ? " (post-copy)" : ""));
  world_.lifecycle(destination_, uuid_, Lifecycle::kResumed,
                   postcopy_ ? LifecycleDetail::kPostcopy : LifecycleDetail::kMigrated);
  if (postcopy_)
    return later(world_.random.between(milliseconds(200), seconds(3)), Stage::kFinishing,
                 &LiveMigration::postcopyEnds);
  world_.agenda.after(world_.random.between(Duration(0), milliseconds(40)), [self = shared_from_this()] {
    Domain* domain = self->there();
    if (domain == nullptr || domain->job != Job::kIncoming) return;
    domain->job = Job::kNone;
    if (self->request_.persistent) domain->definition = self->definition_;
  });
  // The destination's answer: without it the source does not know.
  world_.network.send(destination_.number, [self = shared_from_this()] {
    if (self->stage_ == Stage::kFinishing && !self->source_gone_) self->confirmed();
  });
}

void LiveMigration::postcopyEnds() {
  Domain* arrived = there();
  if (arrived == nullptr || !arrived->active()) return end({});
  arrived->reason = RunReason::kMigrated;
  arrived->job = Job::kNone;
  if (request_.persistent) arrived->definition = definition_;
  world_.lifecycle(destination_, uuid_, Lifecycle::kResumed, LifecycleDetail::kMigrated);
  if (!source_gone_) confirmed();
}

void LiveMigration::confirmed() {
  stage_ = Stage::kConfirming;
  Domain* left = here();
  if (left != nullptr && left->active()) {
    left->job = Job::kNone;
    if (request_.persistent) left->definition.reset();
    world_.endDomain(source_, uuid_, LifecycleDetail::kMigrated);
  }
  world_.tell(source_, [uuid = uuid_](HypervisorListener& to) { to.onJobCompleted(uuid); });
  world_.agenda.after(world_.random.between(milliseconds(1), seconds(2)),
                      [self = shared_from_this()] { self->end({}); });
}

/// libvirt cannot know whether the destination runs it, and resumes the source.
void LiveMigration::noWord() {
  resumeSource();
  fail("no word from the destination");
}

void LiveMigration::resumeSource() {
  Domain* left = here();
  if (left == nullptr || left->state != DomainState::kPausedByMigration) return;
  left->state = DomainState::kRunning;
  left->reason = RunReason::kMigrationCanceled;
  world_.say(fmt::format("libvirt: {} is resumed on {}", name_, source_.name.str()));
  world_.lifecycle(source_, uuid_, Lifecycle::kResumed, LifecycleDetail::kMigrated);
}

void LiveMigration::destinationFailsAfter(Duration time) {
  ++world_.loose_ends;
  world_.agenda.after(time, [self = shared_from_this()] {
    --self->world_.loose_ends;
    self->destinationFails();
  });
}

void LiveMigration::destinationFails() {
  const Domain* incoming = there();
  if (incoming != nullptr && incoming->job == Job::kIncoming)
    world_.endDomain(destination_, uuid_, LifecycleDetail::kFailed);
}

void LiveMigration::fail(const std::string& why) {
  const bool came_in = stage_ == Stage::kCopying;
  if (Domain* left = here()) left->job = Job::kNone;
  stage_ = Stage::kOver;
  if (came_in) {
    const Duration notice = world_.network.openBothWays() ? Duration(milliseconds(20)) : kKeepalive;
    destinationFailsAfter(notice);
  }
  end(failure(ErrorCode::kInternal, "migrate " + name_, why));
}

void LiveMigration::abort() {
  if (stage_ == Stage::kPreparing || stage_ == Stage::kCopying) {
    fail("the job was aborted");
  } else if (stage_ == Stage::kSwitching && !postcopy_) {
    // It had been paused already, and is resumed.
    resumeSource();
    stage_ = Stage::kCopying;
    fail("the job was aborted at its switch");
  }
}

void LiveMigration::libvirtdGone(const Host& host) {
  if (over()) return;
  const auto lost = [this] {
    end(failure(ErrorCode::kUnavailable, "migrate " + name_, "libvirtd went away"));
  };
  if (&host == &source_) {
    if (stage_ == Stage::kPreparing || stage_ == Stage::kCopying) {
      // Its successor cancels the job that it finds; the domain runs on.
      fail("libvirtd went away");
    } else if (stage_ == Stage::kSwitching && !postcopy_) {
      // Paused for ever: nobody is left who would resume it, or tell the destination to.
      if (Domain* left = here()) left->job = Job::kNone;
      stage_ = Stage::kOver;
      destinationFailsAfter(milliseconds(20));
      lost();
    } else if (stage_ == Stage::kFinishing && !postcopy_) {
      if (Domain* left = here()) left->job = Job::kNone;
      source_gone_ = true;
      stage_ = Stage::kOver;
      lost();
    }
  } else if (stage_ == Stage::kCopying) {
    fail("the destination's libvirtd went away");
  } else if (stage_ == Stage::kFinishing && !postcopy_) {
    const Domain* incoming = there();
    if (incoming != nullptr && !incoming->runs()) destinationFails();
  }
}

void LiveMigration::end(Result<void> result) {
  stage_ = Stage::kOver;
  if (!done_) return;
  world_.say(fmt::format("libvirt: the migration of {} has ended: {}", name_,
                         result ? "done" : result.error().cause));
  std::exchange(done_, nullptr)(std::move(result));
}

}  // namespace rdmove::simulation
