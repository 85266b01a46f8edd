#include "coordinator/evacuation/evacuations.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace rdmove {

using evacuation::Candidate;
using evacuation::Evacuation;
using evacuation::Member;
using evacuation::Need;
using evacuation::Placement;
using evacuation::Rooms;

namespace {

Result<std::vector<Member>> membersFrom(std::vector<EvacuatedVm> rows) {
  std::vector<Member> members;
  for (EvacuatedVm& row : rows) {
    auto need = evacuation::needFromJson(row.need);
    if (!need) return tl::unexpected(need.error());
    auto tried = evacuation::triesFromJson(row.tried);
    if (!tried) return tl::unexpected(tried.error());
    need->uuid = row.uuid;
    need->domain = row.domain;
    members.push_back({std::move(row), std::move(*need), std::move(*tried)});
  }
  return members;
}

Member memberOf(const Need& need, const HostName& destination, const std::string& why_not) {
  Member member;
  member.need = need;
  member.row.uuid = need.uuid;
  member.row.domain = need.domain;
  member.row.need = evacuation::needToJson(need);
  member.row.destination = destination;
  member.row.reason = why_not;
  if (!why_not.empty()) member.row.state = EvacuatedState::kStayed;
  return member;
}

}  // namespace

Evacuations::Evacuations(Services& services, Depart depart,
                         std::function<std::vector<MigrationRecord>()> unfinished)
    : services_(services), depart_(std::move(depart)), unfinished_(std::move(unfinished)) {
  // A session that ends is on the stack when it says so: the next migration begins in a turn of its own.
  subscription_ = services_.bulletin.subscribe([this](const Update& update) {
    if (!running_) return;
    boost::asio::post(services_.loop, [weak = std::weak_ptr(running_), update] {
      if (const auto running = weak.lock()) running->onUpdate(update);
    });
  });
}

Evacuations::~Evacuations() {
  services_.bulletin.unsubscribe(subscription_);
}

Result<void> Evacuations::recover() {
  const auto all = services_.journal.evacuations();
  if (!all) return tl::unexpected(all.error());
  for (const EvacuationRecord& record : *all) {
    if (record.outcome != EvacuationOutcome::kRunning) continue;
    auto known = account(record.id);
    if (!known) return tl::unexpected(known.error());
    spdlog::info("evacuation={} taken up from the journal", record.id.str());
    run(std::move(known->record), std::move(known->request), std::move(known->members));
  }
  return {};
}

Result<Evacuations::Request> Evacuations::checked(Request request) const {
  const HostName& here = services_.config.host;
  if (request.destinations.empty()) {
    for (const auto& [name, partner] : services_.config.partners) request.destinations.push_back(name);
  }
  if (request.destinations.empty()) {
    return failure(ErrorCode::kBadInput, "", here.str() + " has no partner to which VMs could go",
                   "Add [partners.HOST] to rdmoved.toml.");
  }
  std::vector<HostName> once;
  for (const HostName& name : request.destinations) {
    if (name == here) {
      return failure(ErrorCode::kBadInput, "", name.str() + " is this host, which is to be evacuated",
                     "Name other hosts as destinations.");
    }
    if (const auto partner = services_.partners.find(name); !partner) return tl::unexpected(partner.error());
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(name);
  }
  request.destinations = std::move(once);
  if (request.limits.max_parallel < 1 || request.limits.max_parallel > evacuation::kMostParallel) {
    return failure(
        ErrorCode::kBadInput, "",
        fmt::format("{} at a time are not 1 to {}", request.limits.max_parallel, evacuation::kMostParallel),
        "See rdmove evacuate --help.");
  }
  return request;
}

/// What the guests say of whom they talk to, put together as the answers come in.
struct Evacuations::Asking {
  std::vector<Candidate> vms;
  std::map<DomainUuid, evacuation::Conversation> said;
  std::map<DomainUuid, std::shared_ptr<AgentLink>> links;
  std::vector<Finding> findings;
  std::set<DomainUuid> unknown;  ///< whose agent has left a question open: told once
  std::size_t open = 0;
};

void Evacuations::askGuests(std::vector<Candidate> vms, std::function<void(Asking&)> done) {
  const auto asking = std::make_shared<Asking>();
  asking->vms = std::move(vms);
  const auto answered = [this, asking, done = std::move(done)] {
    if (--asking->open != 0) return;
    for (const auto& [uuid, peers] : evacuation::peersAmong(asking->said)) {
      for (Candidate& vm : asking->vms) {
        if (vm.need.uuid == uuid) vm.need.peers = peers;
      }
    }
    done(*asking);
    boost::asio::post(services_.loop, [asking] { asking->links.clear(); });  // not in a link's own answer
  };
  asking->open = 1;  // so that it is not over before all are asked
  const std::weak_ptr<int> alive = alive_;
  for (const Candidate& vm : asking->vms) {
    if (!vm.why_not.empty()) continue;
    const DomainUuid uuid = vm.need.uuid;
    const auto link = services_.agents.link(uuid);
    asking->links[uuid] = link;
    asking->open += 2;
    const auto heard = [asking, answered, alive, uuid, domain = vm.need.domain,
                        host = services_.config.host.str()](const char* method,
                                                            const Result<std::string>& answer) {
      if (alive.expired()) return;
      if (!answer) {
        if (!asking->unknown.insert(uuid).second) return answered();
        asking->findings.push_back(
            {Severity::kWarning, "peers-unknown",
             fmt::format("It is not known to whom {} talks: {}", domain, answer.error().sentence()), "",
             host});
      } else if (std::string_view(method) == "status") {
        asking->said[uuid].own = evacuation::ownEndpoints(*answer);
      } else {
        asking->said[uuid].remote = evacuation::remoteEndpoints(*answer);
      }
      answered();
    };
    for (const char* method : {"status", "peers"}) {
      link->query(method, services_.config.timeouts.agent,
                  [heard, method](Result<std::string> answer) { heard(method, answer); });
    }
  }
  answered();
}

Evacuations::Draft Evacuations::draftOf(Asking& asked, std::vector<HostRoom> rooms) {
  Draft draft;
  std::vector<Need> movable;
  for (const Candidate& vm : asked.vms) {
    if (vm.why_not.empty()) movable.push_back(vm.need);
  }
  for (const Placement& placement : evacuation::place(movable, rooms)) {
    draft.members.push_back(
        memberOf(placement.need, placement.destination.value_or(HostName()), placement.why_not));
  }
  for (const Candidate& vm : asked.vms) {
    if (!vm.why_not.empty()) draft.members.push_back(memberOf(vm.need, HostName(), vm.why_not));
  }
  draft.rooms = std::move(rooms);
  draft.findings = std::move(asked.findings);
  return draft;
}

void Evacuations::plan(const Request& wanted, std::function<void(Result<Draft>)> done) {
  const auto request = checked(wanted);
  if (!request) return done(tl::unexpected(request.error()));
  std::map<DomainUuid, MigrationId> busy;
  for (const MigrationRecord& record : unfinished_()) {
    if (!isFinished(record.outcome)) busy[record.uuid] = record.id;
  }
  struct Seen {
    Result<std::vector<Candidate>> vms;
    std::vector<Finding> findings;
    Rooms rooms;
  };
  services_.workers.run([this, alive = std::weak_ptr(alive_), request = *request, busy, done] {
    const auto seen = std::make_shared<Seen>();
    seen->vms = evacuation::candidates(services_.hypervisor, services_.config.host, busy, seen->findings);
    if (seen->vms && !seen->vms->empty())
      seen->rooms = evacuation::askRooms(services_.partners, request.destinations);
    boost::asio::post(services_.loop, [this, alive, seen, done] {
      if (alive.expired()) return;
      if (!seen->vms) return done(tl::unexpected(seen->vms.error()));
      for (const auto& [host, why] : seen->rooms.silent) {
        seen->findings.push_back({Severity::kWarning, "destination-silent", why, "", host.str()});
      }
      if (!seen->vms->empty() && seen->rooms.rooms.empty()) {
        std::string all;
        for (const auto& [host, why] : seen->rooms.silent) all += (all.empty() ? "" : " ") + why;
        return done(failure(ErrorCode::kUnavailable, "", "no destination says what room it has", all));
      }
      askGuests(std::move(*seen->vms), [seen, done](Asking& asked) {
        asked.findings.insert(asked.findings.begin(), seen->findings.begin(), seen->findings.end());
        done(draftOf(asked, std::move(seen->rooms.rooms)));
      });
    });
  });
}

Result<EvacuationId> Evacuations::journaled(const Request& request, const Draft& draft) {
  const auto seconds = std::chrono::system_clock::to_time_t(services_.clock.now().wall);
  EvacuationRecord record;
  record.id = EvacuationId(fmt::format("evacuation-{}-{:%Y%m%d}-{:06x}", services_.config.host.str(),
                                       fmt::gmtime(seconds), services_.random() & 0xffffffU));
  record.request = evacuation::toJson(request);
  std::vector<EvacuatedVm> rows;
  for (const Member& member : draft.members) rows.push_back(member.row);
  if (auto begun = services_.journal.beginEvacuation(record, rows); !begun)
    return tl::unexpected(begun.error());
  auto known = account(record.id);
  if (!known) return tl::unexpected(known.error());
  // Later, so that the caller has subscribed before the first word.
  boost::asio::post(services_.loop,
                    [this, alive = std::weak_ptr(alive_), known = std::move(*known)]() mutable {
                      if (!alive.expired())
                        run(std::move(known.record), std::move(known.request), std::move(known.members));
                    });
  return record.id;
}

void Evacuations::begin(const Request& wanted, std::function<void(Result<Begun>)> done) {
  const auto request = checked(wanted);
  if (!request) return done(tl::unexpected(request.error()));
  if (running_ && !running_->over()) {
    const std::string& id = running_->record().id.str();
    return done(
        failure(ErrorCode::kConflict, "begin an evacuation", id + " is not over",
                fmt::format("Follow it with 'rdmove watch {0}', or end it with 'rdmove cancel {0}'.", id)));
  }
  plan(*request, [this, request = *request, done](Result<Draft> draft) {
    if (!draft) return done(tl::unexpected(draft.error()));
    if (draft->members.empty()) return done(Begun{EvacuationId(), std::move(*draft)});
    const auto id = journaled(request, *draft);
    if (!id) return done(tl::unexpected(id.error()));
    done(Begun{*id, std::move(*draft)});
  });
}

void Evacuations::run(EvacuationRecord record, Request request, std::vector<Member> members) {
  evacuation::Surroundings& surroundings = *this;
  running_ = std::make_shared<Evacuation>(
      services_.journal, surroundings, services_.timers, services_.clock, std::move(record),
      std::move(request), std::move(members),
      [this](const Evacuation& one, const std::string& message) { tell(one, message); });
  running_->start();
}

void Evacuations::askRooms(const std::vector<HostName>& destinations, std::function<void(Rooms)> answer) {
  services_.workers.run([this, alive = std::weak_ptr(alive_), destinations, answer = std::move(answer)] {
    auto rooms = std::make_shared<Rooms>(evacuation::askRooms(services_.partners, destinations));
    boost::asio::post(services_.loop, [alive, rooms, answer] {
      if (!alive.expired()) answer(std::move(*rooms));
    });
  });
}

Result<std::optional<EvacuationId>> Evacuations::find(const std::string& id_or_prefix) {
  const auto all = services_.journal.evacuations();
  if (!all) return tl::unexpected(all.error());
  std::vector<EvacuationId> fits;
  for (const EvacuationRecord& record : *all) {
    if (record.id.str() == id_or_prefix) return std::optional(record.id);
    if (!id_or_prefix.empty() && record.id.str().rfind(id_or_prefix, 0) == 0) fits.push_back(record.id);
  }
  if (fits.size() == 1) return std::optional(fits.front());
  if (fits.empty()) return std::optional<EvacuationId>();
  return failure(ErrorCode::kBadInput, "", fmt::format("{} fits {} evacuations", id_or_prefix, fits.size()),
                 "Give more of the id; see rdmove list.");
}

Result<Evacuations::Account> Evacuations::account(const EvacuationId& id) {
  if (running_ && running_->record().id == id)
    return Account{running_->record(), running_->request(), running_->members()};
  const auto all = services_.journal.evacuations();
  if (!all) return tl::unexpected(all.error());
  const auto record =
      std::find_if(all->begin(), all->end(), [&](const EvacuationRecord& one) { return one.id == id; });
  if (record == all->end()) {
    return failure(ErrorCode::kNotFound, "", "there is no evacuation " + id.str() + " (any more)",
                   "See rdmove list.");
  }
  auto request = evacuation::requestFromJson(record->request);
  if (!request) return tl::unexpected(request.error());
  auto rows = services_.journal.evacuated(id);
  if (!rows) return tl::unexpected(rows.error());
  auto members = membersFrom(std::move(*rows));
  if (!members) return tl::unexpected(members.error());
  return Account{*record, std::move(*request), std::move(*members)};
}

Result<void> Evacuations::cancel(const EvacuationId& id) {
  const bool runs = running_ && running_->record().id == id;
  const auto cancelled = runs ? running_->cancel() : Result<bool>(false);
  if (!cancelled) return tl::unexpected(cancelled.error());
  if (*cancelled) return {};
  const bool before = runs && !running_->over();
  return failure(ErrorCode::kRefused, "cancel " + id.str(),
                 before ? "it is cancelled already; what is under way ends" : "it is over",
                 "See rdmove show " + id.str() + ".");
}

bool Evacuations::moves(const EvacuationId& id, const MigrationId& migration) const {
  if (!running_ || running_->record().id != id) return false;
  const auto& members = running_->members();
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& member) { return member.row.migration == migration; });
}

void Evacuations::tell(const Evacuation& one, const std::string& message) {
  board_.publish({one.record(), one.request(), one.members()}, message);
}

}  // namespace rdmove
