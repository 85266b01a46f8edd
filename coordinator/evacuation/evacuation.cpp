#include "coordinator/evacuation/evacuation.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "coordinator/migration/session.hpp"

namespace rdmove::evacuation {
namespace {

constexpr std::chrono::milliseconds kTryAgain{1000};
/// A migration that a restart interrupted may leave a reservation behind, of which the source knows nothing:
/// it ends by itself after lease_hold_ms, two minutes by default.
constexpr std::chrono::microseconds kReservationEnds = std::chrono::seconds(150);
constexpr std::chrono::milliseconds kLookAgain{10000};
constexpr std::size_t kMostMigrations = 1000;  ///< that the journal keeps

bool isReserved(const std::string& phase) {
  return !phase.empty() && phase != "Preflight" && phase != "Reserving";
}

std::set<HostName> fullOnes(const Member& member) {
  std::set<HostName> hosts;
  for (const Try& each : member.tried) {
    if (each.full) hosts.insert(each.destination);
  }
  return hosts;
}

/// What is in its way may be its own reservation from before a restart.
bool mayBecomeFree(const Member& member, std::int64_t now_us) {
  return !member.tried.empty() && !member.tried.back().full &&
         now_us - member.row.ended_us < kReservationEnds.count();
}

std::string silentOnes(const Rooms& rooms) {
  std::string text;
  for (const auto& [host, why] : rooms.silent) text += fmt::format("; {}: {}", host.str(), why);
  return text;
}

/// How a migration that led nowhere failed, as its journal tells.
struct Failure {
  bool full = false;         ///< the destination had no free VF, and nothing was transferred
  bool interrupted = false;  ///< the daemon was started anew over it, before anything was changed
};
Failure failureOf(Journal& journal, const MigrationId& id) {
  Failure failure;
  const auto facts = journal.facts(id, Role::kDeparture);
  if (!facts) return failure;
  bool transferred = false, cancelled = false;
  for (const FactRecord& fact : *facts) {
    if (const auto code = blameOf(fact.name)) {
      failure.full = *code == ErrorCode::kExhausted;
      failure.interrupted = *code == ErrorCode::kCancelled;
    }
    transferred = transferred || fact.name == "transfer-started";
    cancelled = cancelled || fact.name == "cancelled";
  }
  failure.full = failure.full && !transferred;
  failure.interrupted = failure.interrupted && !cancelled;
  return failure;
}

}  // namespace

Evacuation::Evacuation(Journal& journal, Surroundings& surroundings, Timers& timers, const Clock& clock,
                       EvacuationRecord record, Request request, std::vector<Member> members, Say say)
    : journal_(journal),
      surroundings_(surroundings),
      timers_(timers),
      clock_(clock),
      record_(std::move(record)),
      request_(std::move(request)),
      members_(std::move(members)),
      say_(std::move(say)) {}

std::int64_t Evacuation::now() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(clock_.now().wall.time_since_epoch()).count();
}

bool Evacuation::keep(Member& member) {
  const auto kept = journal_.keepEvacuated(record_.id, member.row);
  if (!kept) spdlog::error("evacuation={} journal: {}", record_.id.str(), kept.error().sentence());
  return kept.has_value();
}

void Evacuation::start() {
  for (Member& member : members_) {
    if (member.row.state == EvacuatedState::kMoving || member.row.state == EvacuatedState::kDegraded)
      takeUp(member);
  }
  look();
}

/// The row may have been written and the migration never begun, or begun and not written into the row.
void Evacuation::takeUp(Member& member) {
  if (member.row.migration.empty()) {
    if (const auto all = journal_.list(kMostMigrations)) {
      for (const MigrationRecord& one : *all) {
        const bool its = one.role == Role::kDeparture && one.uuid == member.row.uuid &&
                         one.created_us >= member.row.began_us;
        if (its) member.row.migration = one.id;
      }
    }
    if (member.row.migration.empty()) {
      member.row.state = EvacuatedState::kWaiting;
      keep(member);
      return;
    }
    keep(member);
  }
  const auto record = journal_.find(member.row.migration, Role::kDeparture);
  if (!record) return spdlog::error("evacuation={} {}", record_.id.str(), record.error().sentence());
  if (!*record) return stay(member, "its migration is not in the journal any more; see where it runs");
  member.reserved = isReserved((*record)->phase);
  if (isFinished((*record)->outcome)) ended(member, (*record)->outcome, (*record)->error);
}

void Evacuation::onUpdate(const Update& update) {
  if (update.record.role != Role::kDeparture) return;
  const auto member = std::find_if(members_.begin(), members_.end(), [&](const Member& one) {
    return !one.row.migration.empty() && one.row.migration == update.record.id;
  });
  if (member == members_.end()) return;
  const bool waited_for =
      member->row.state == EvacuatedState::kMoving || member->row.state == EvacuatedState::kDegraded;
  if (!waited_for) return;
  member->reserved = isReserved(update.record.phase);
  if (isFinished(update.record.outcome)) {
    ended(*member, update.record.outcome, update.record.error);
    return look();
  }
  if (update.record.outcome != Outcome::kDegraded || member->row.state == EvacuatedState::kDegraded) return;
  member->row.state = EvacuatedState::kDegraded;
  member->row.reason = update.record.error;
  keep(*member);
  say(fmt::format("{} is degraded: {}", member->row.domain, member->row.reason));
  look();
}

Result<bool> Evacuation::cancel() {
  if (over() || record_.cancelled) return false;
  if (auto written = journal_.cancelEvacuation(record_.id); !written) return tl::unexpected(written.error());
  record_.cancelled = true;
  say("cancelled: no more VMs begin");
  look();
  return true;
}

std::vector<Turn> Evacuation::turns() const {
  std::vector<Turn> turns;
  for (const Member& member : members_) {
    turns.push_back({member.row.state == EvacuatedState::kWaiting  ? Turn::State::kWaiting
                     : member.row.state == EvacuatedState::kMoving ? Turn::State::kMoving
                                                                   : Turn::State::kOver,
                     &member.need});
  }
  return turns;
}

/// Of what is under way: the memory, of which nobody knows how much is there already, and the VFs until they
/// are leased.
std::multimap<HostName, Need> Evacuation::coming() const {
  std::multimap<HostName, Need> coming;
  for (const Member& member : members_) {
    if (member.row.state != EvacuatedState::kMoving) continue;
    Need need = member.need;
    if (member.reserved) need.vfs.clear();
    coming.emplace(member.row.destination, std::move(need));
  }
  return coming;
}

void Evacuation::look() {
  if (over()) return;
  if (record_.cancelled) {
    for (Member& member : members_) {
      if (member.row.state == EvacuatedState::kWaiting) stay(member, "the evacuation was cancelled");
    }
  }
  finishIfOver();
  if (over() || mayBegin(turns(), request_.limits).empty()) return;
  if (std::exchange(looking_, true)) {
    look_again_ = true;
    return;
  }
  look_again_ = false;
  surroundings_.askRooms(request_.destinations,
                         [weak = weak_from_this(), coming = coming()](const Rooms& rooms) {
                           const auto self = weak.lock();
                           if (!self) return;
                           self->looking_ = false;
                           self->beginWhatFits(rooms, coming);
                           // What has ended meanwhile may have made room of which the answer does not tell.
                           if (self->look_again_) self->look();
                         });
}

void Evacuation::beginWhatFits(const Rooms& rooms, std::multimap<HostName, Need> coming) {
  if (over() || record_.cancelled) return finishIfOver();
  std::vector<Turn> all = turns();
  for (auto next = mayBegin(all, request_.limits); !next.empty(); next = mayBegin(all, request_.limits)) {
    const std::size_t i = next.front();
    Member& member = members_[i];
    const Choice choice = choose(member.need, member.row.destination, rooms.rooms, coming, fullOnes(member));
    all[i].state = Turn::State::kOver;
    if (choice.when == Choice::When::kNever && mayBecomeFree(member, now())) {
      again_ = timers_.after(kLookAgain, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->look();
      });
      continue;
    }
    if (choice.when == Choice::When::kNever) stay(member, choice.why_not + silentOnes(rooms));
    if (choice.when != Choice::When::kNow) continue;
    if (!begin(member, choice.host)) continue;
    all[i].state = Turn::State::kMoving;
    coming.emplace(choice.host, member.need);
  }
  finishIfOver();
}

bool Evacuation::begin(Member& member, const HostName& destination) {
  member.row.state = EvacuatedState::kMoving;
  member.row.destination = destination;
  member.row.migration = MigrationId();
  member.row.began_us = now();
  member.row.ended_us = 0;
  member.reserved = false;
  if (!keep(member)) {
    stay(member, "the journal cannot be written; make room on the disk under the daemon's state_dir");
    return false;
  }
  Plan plan;
  plan.domain = member.row.domain;
  plan.uuid = member.row.uuid;
  plan.destination = destination;
  plan.options = request_.options;
  const auto id = surroundings_.depart(plan);
  if (!id) {
    stay(member, id.error().sentence());
    return false;
  }
  member.row.migration = *id;
  keep(member);
  spdlog::info("evacuation={} migration={} destination={}", record_.id.str(), id->str(), destination.str());
  say(fmt::format("{} goes to {} as {}", member.row.domain, destination.str(), id->str()));
  return true;
}

void Evacuation::ended(Member& member, Outcome outcome, const std::string& error) {
  if (outcome == Outcome::kCompleted) {
    member.row.state = EvacuatedState::kMoved;
    member.row.reason.clear();
    member.row.ended_us = now();
    keep(member);
    return say(fmt::format("{} runs on {}", member.row.domain, member.row.destination.str()));
  }
  const std::string why = error.empty() ? "its migration was cancelled" : error;
  const Failure failure = failureOf(journal_, member.row.migration);
  if (failure.full || failure.interrupted) return wait(member, why, failure.full);
  stay(member, why);
}

/// It gets another turn: elsewhere if the destination was full.
void Evacuation::wait(Member& member, const std::string& reason, bool full) {
  member.tried.push_back({member.row.destination, member.row.migration, reason, full});
  member.row.tried = triesToJson(member.tried);
  member.row.state = EvacuatedState::kWaiting;
  member.row.migration = MigrationId();
  member.row.ended_us = now();
  member.reserved = false;
  keep(member);
  say(fmt::format("{} is tried again{}: {}", member.row.domain, full ? " elsewhere" : "", reason));
}

void Evacuation::stay(Member& member, const std::string& reason) {
  member.row.state = EvacuatedState::kStayed;
  member.row.reason = reason;
  member.row.ended_us = now();
  keep(member);
  say(fmt::format("{} stays: {}", member.row.domain, reason));
}

/// Nothing is over before the journal says so, as with a migration.
void Evacuation::finishIfOver() {
  const bool open = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.row.state == EvacuatedState::kWaiting || member.row.state == EvacuatedState::kMoving;
  });
  if (open || over()) return;
  // A row that the journal refused while its disk was full.
  bool written = true;
  for (Member& member : members_) written = keep(member) && written;
  const EvacuationOutcome outcome = outcomeOf(members_, record_.cancelled);
  if (!written || !journal_.finishEvacuation(record_.id, outcome)) {
    again_ = timers_.after(kTryAgain, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->finishIfOver();
    });
    return;
  }
  record_.outcome = outcome;
  record_.updated_us = now();
  spdlog::info("evacuation={} outcome={}", record_.id.str(), toString(outcome));
  say(closingWords(record_, members_));
}

EvacuationOutcome outcomeOf(const std::vector<Member>& members, bool cancelled) {
  const auto any = [&](EvacuatedState state) {
    return std::any_of(members.begin(), members.end(),
                       [&](const Member& member) { return member.row.state == state; });
  };
  if (any(EvacuatedState::kDegraded)) return EvacuationOutcome::kDegraded;
  if (!any(EvacuatedState::kStayed)) return EvacuationOutcome::kCompleted;
  return cancelled ? EvacuationOutcome::kCancelled : EvacuationOutcome::kIncomplete;
}

std::string closingWords(const EvacuationRecord& record, const std::vector<Member>& members) {
  const auto count = [&](EvacuatedState state) {
    return std::count_if(members.begin(), members.end(),
                         [&](const Member& member) { return member.row.state == state; });
  };
  std::string text = fmt::format("{}: {} of {} VMs have moved", record.id.str(),
                                 count(EvacuatedState::kMoved), members.size());
  if (const auto stayed = count(EvacuatedState::kStayed); stayed != 0)
    text += fmt::format(", {} stayed", stayed);
  if (const auto degraded = count(EvacuatedState::kDegraded); degraded != 0)
    text += fmt::format(", {} degraded", degraded);
  return text + ".";
}

}  // namespace rdmove::evacuation
