#include "coordinator/service/coordinator.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/traffic.hpp"

namespace rdmove {
namespace {

constexpr std::size_t kNewestForPrefix = 1000;
/// The fact of a departure that took over from an arrival that was Degraded; its value is that one's id.
constexpr const char* kMovesOn = "moves-on";

/// The agent's protocol takes 64 bytes of [A-Za-z0-9._-] (docs/agent-protocol.md); libvirt's names may be
/// anything.
MigrationId newId(const std::string& domain_name, const Clock& clock, unsigned random) {
  constexpr std::size_t kMostOfName = 40;
  std::string domain;
  for (const char c : domain_name.substr(0, kMostOfName)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    domain += plain ? c : '-';
  }
  const auto seconds = std::chrono::system_clock::to_time_t(clock.now().wall);
  return MigrationId(fmt::format("{}-{:%Y%m%d}-{:06x}", domain, fmt::gmtime(seconds), random & 0xffffffU));
}

}  // namespace

Coordinator::Coordinator(Services& services, Examiner& examiner)
    : services_(services), examiner_(examiner), sweep_(services) {
  subscription_ = services_.bulletin.subscribe([this](const Update& update) { forgetWhenEnded(update); });
}

Coordinator::~Coordinator() {
  services_.bulletin.unsubscribe(subscription_);
}

Result<void> Coordinator::recover() {
  const auto unfinished = services_.journal.unfinished();
  if (!unfinished) return tl::unexpected(unfinished.error());
  for (const MigrationRecord& record : *unfinished) {
    const auto plan = planFromJson(record.plan);
    if (!plan) return tl::unexpected(plan.error());
    const auto facts = services_.journal.facts(record.id, record.role);
    if (!facts) return tl::unexpected(facts.error());
    spdlog::info("migration={} phase={} role={} taken up from the journal", record.id.str(), record.phase,
                 toString(record.role));
    if (record.role == Role::kDeparture) {
      const bool heir = std::any_of(facts->begin(), facts->end(),
                                    [](const FactRecord& fact) { return fact.name == kMovesOn; });
      const auto session = std::make_shared<DepartureSession>(services_, examiner_, record, *plan,
                                                              heir ? Debt::kInherited : Debt::kNone);
      departures_.emplace(record.id, session);
      session->start(record.phase, *facts);
    } else {
      const auto session =
          std::make_shared<ArrivalSession>(services_, record, *plan, services_.config.timeouts.lease_hold);
      arrivals_.emplace(record.id, session);
      session->recover(record.phase, *facts);
    }
  }
  sweep_.look();
  return {};
}

Result<MigrationId> Coordinator::depart(Plan request) {
  request.id = newId(request.domain, services_.clock, services_.random());
  request.source = services_.config.host;
  MigrationRecord record;
  record.id = request.id;
  record.role = Role::kDeparture;
  record.uuid = request.uuid;
  record.domain = request.domain;
  record.partner = request.destination;
  record.phase = "Preflight";
  std::vector<FactRecord> facts;
  for (const auto& [id, session] : arrivals_) {
    if (session->record().uuid != record.uuid || session->ended()) continue;
    // What the arrival still owed is now the departure's to bring back, should the VM stay.
    request.vfs = session->plan().vfs;
    facts.push_back({kMovesOn, id.str()});
    for (const LeasedVf& lease : session->leases())
      facts.push_back({"source-vf:" + lease.alias.str(), lease.vf.str()});
  }
  record.plan = toJson(request);
  // In one write: a daemon that is killed right after it must know of the debt, whose arrival is over then.
  if (auto begun = services_.journal.begin(record, facts); !begun) return tl::unexpected(begun.error());
  // The journal has superseded a Degraded arrival of this VM; its session must not go on plugging.
  std::erase_if(arrivals_, [&](const auto& entry) {
    if (entry.second->record().uuid != record.uuid) return false;
    entry.second->supersede();
    return true;
  });
  const auto session = std::make_shared<DepartureSession>(services_, examiner_, record, request,
                                                          facts.empty() ? Debt::kNone : Debt::kInherited);
  departures_.emplace(record.id, session);
  // Later, so that the caller has subscribed before the first word.
  boost::asio::post(services_.loop, [weak = std::weak_ptr(session), facts] {
    if (const auto begun = weak.lock()) begun->start("", facts);
  });
  return record.id;
}

Result<MigrationRecord> Coordinator::find(const std::string& id_or_prefix) {
  const auto all = services_.journal.list(kNewestForPrefix);
  if (!all) return tl::unexpected(all.error());
  std::vector<MigrationRecord> fits;
  for (const MigrationRecord& record : *all) {
    if (record.id.str() == id_or_prefix) return record;
    if (!id_or_prefix.empty() && record.id.str().rfind(id_or_prefix, 0) == 0) fits.push_back(record);
  }
  if (fits.size() == 1) return fits.front();
  if (fits.empty()) {
    return failure(ErrorCode::kNotFound, "",
                   "there is no migration " + id_or_prefix + " on " + services_.config.host.str(),
                   "See rdmove list.");
  }
  return failure(ErrorCode::kBadInput, "", fmt::format("{} fits {} migrations", id_or_prefix, fits.size()),
                 "Give more of the id; see rdmove list.");
}

Result<MigrationId> Coordinator::cancel(const std::string& id_or_prefix) {
  const auto record = find(id_or_prefix);
  if (!record) return tl::unexpected(record.error());
  const auto session = departures_.find(record->id);
  if (session == departures_.end()) {
    const std::string why = record->role == Role::kArrival
                                ? "it is cancelled where it started, on " + record->partner.str()
                                : "it is over (" + std::string(toString(record->outcome)) + ")";
    return failure(ErrorCode::kRefused, "cancel " + record->id.str(), why);
  }
  if (!session->second->cancel()) {
    return failure(ErrorCode::kRefused, "cancel " + record->id.str(),
                   "it is in " + session->second->record().phase +
                       ", where it is going back already or past the point of no return",
                   "Watch it with rdmove watch " + record->id.str() + ".");
  }
  return record->id;
}

Result<void> Coordinator::resolve(const MigrationId& id, OperatorWord word) {
  if (const auto session = departures_.find(id); session != departures_.end()) return session->second->take(word);
  ArrivalSession* session = arrival(id);
  const auto choices = session == nullptr ? std::vector<Choice>() : predicamentOf(session->record()).choices;
  if (choices.empty() || choices.front().word != word) {
    return failure(ErrorCode::kRefused, "take the word " + std::string(toString(word)),
                   "it decides nothing where " + id.str() + " stands", "See rdmove resolve " + id.str() + ".");
  }
  return session->sourceIsDead();
}

void Coordinator::adopt(Plan plan, std::function<void(Result<MigrationId>)> begun) {
  plan.id = newId(plan.domain, services_.clock, services_.random());
  plan.destination = services_.config.host;
  const auto session = makeArrival(std::move(plan), services_.config.timeouts.lease_hold);
  if (!session) return begun(tl::unexpected(session.error()));
  (*session)->adopt([begun = std::move(begun), id = (*session)->record().id](Result<std::vector<LeasedVf>> leases) {
    begun(leases ? Result<MigrationId>(id) : tl::unexpected(leases.error()));
  });
}

std::optional<MigrationRecord> Coordinator::unfinished(const DomainUuid& uuid) const {
  for (const MigrationRecord& record : running()) {
    if (record.uuid == uuid && !isFinished(record.outcome)) return record;
  }
  return std::nullopt;
}

Result<std::shared_ptr<ArrivalSession>> Coordinator::makeArrival(Plan plan, std::chrono::milliseconds hold) {
  MigrationRecord record;
  record.id = plan.id;
  record.role = Role::kArrival;
  record.uuid = plan.uuid;
  record.domain = plan.domain;
  record.partner = plan.source;
  record.phase = "Staging";
  record.plan = toJson(plan);
  if (auto begun = services_.journal.begin(record); !begun) return tl::unexpected(begun.error());
  const auto session = std::make_shared<ArrivalSession>(services_, record, std::move(plan), hold);
  arrivals_.emplace(record.id, session);
  return session;
}

void Coordinator::reserve(Plan plan, std::chrono::milliseconds hold, ArrivalSession::Reserved reserved) {
  if (const auto same = arrivals_.find(plan.id); same != arrivals_.end()) {
    return reserved(failure(ErrorCode::kConflict, "reserve for " + plan.id.str(), "it is reserved already"));
  }
  const auto session = makeArrival(std::move(plan), hold);
  if (!session) return reserved(tl::unexpected(session.error()));
  (*session)->reserve(std::move(reserved));
}

ArrivalSession* Coordinator::arrival(const MigrationId& id) {
  const auto session = arrivals_.find(id);
  return session == arrivals_.end() ? nullptr : session->second.get();
}

Result<void> Coordinator::identityReleased(const MigrationId& id, const Traffic& before) {
  if (ArrivalSession* session = arrival(id)) return session->identityReleased(before);
  return failure(ErrorCode::kNotFound, "take the word for the identity",
                 "there is no reservation " + id.str() + " (any more)", "Start the migration again.");
}

void Coordinator::withdraw(const MigrationId& id, bool source_runs,
                           std::function<void(Result<WithdrawAnswer>)> answer) {
  if (ArrivalSession* session = arrival(id)) return session->withdraw(source_runs, std::move(answer));
  const auto record = services_.journal.find(id, Role::kArrival);
  if (!record) return answer(tl::unexpected(record.error()));
  if (source_runs) return answer(WithdrawAnswer{false, "no reservation"});
  if (!*record) {
    return answer(failure(ErrorCode::kUnavailable, "say who runs it",
                          "this host's journal does not know " + id.str(),
                          "Look with virsh list on both hosts."));
  }
  const auto facts = services_.journal.facts(id, Role::kArrival);
  if (!facts) return answer(tl::unexpected(facts.error()));
  const bool unseen = std::any_of(facts->begin(), facts->end(), [this](const FactRecord& fact) {
    return fact.name == kCameInBoot && endUnseen(fact.value, services_.clock);
  });
  // The journal tells what was; who runs the domain now is libvirt's to say.
  services_.workers.run([this, uuid = (*record)->uuid, answer = std::move(answer), unseen,
                         arrived = ArrivalMachine::arrivedIn((*record)->phase)] {
    auto ran = runsHere(services_.hypervisor, uuid);
    if (ran) ran->ran_there = arrived;
    if (ran) ran->may_have_run = unseen;
    boost::asio::post(services_.loop, [answer, ran = std::move(ran)] { answer(ran); });
  });
}

Result<ArrivalReport> Coordinator::report(const MigrationId& id) {
  if (ArrivalSession* session = arrival(id)) return session->report();
  const auto record = services_.journal.find(id, Role::kArrival);
  if (!record) return tl::unexpected(record.error());
  if (!*record) return failure(ErrorCode::kNotFound, "follow " + id.str(), "this host knows no such arrival");
  ArrivalReport report;
  report.phase = (*record)->phase;
  report.outcome = (*record)->outcome;
  report.error = (*record)->error;
  report.arrived = report.outcome == Outcome::kCompleted;
  if (auto steps = services_.journal.steps(id, Role::kArrival)) report.steps = std::move(*steps);
  if (const auto facts = services_.journal.facts(id, Role::kArrival)) {
    for (const FactRecord& fact : *facts) {
      if (fact.name == kTrafficAfter) report.traffic_after = trafficFromJson(fact.value);
    }
  }
  return report;
}

void Coordinator::renew(const MigrationId& id) {
  if (ArrivalSession* session = arrival(id)) session->renew();
}

Result<void> Coordinator::admit(const DomainUuid& uuid, const std::string& name) {
  for (const auto& [id, session] : arrivals_) {
    if (session->record().uuid == uuid && !session->ended()) return session->admit();
  }
  const std::string& host = services_.config.host.str();
  return failure(ErrorCode::kRefused, "",
                 fmt::format("{} has RDMA devices and was not prepared for {}", name, host),
                 fmt::format("Move it with 'rdmove migrate {0} {1}', or prepare it: 'rdmove prepare {0} {1}'.", name, host));
}

std::vector<MigrationRecord> Coordinator::running() const {
  std::vector<MigrationRecord> records;
  for (const auto& [id, session] : departures_) records.push_back(session->record());
  for (const auto& [id, session] : arrivals_) records.push_back(session->record());
  return records;
}

/// The session is on the stack when it says that it ended: it is forgotten two turns later, after its own
/// last words.
void Coordinator::forgetWhenEnded(const Update& update) {
  if (!isFinished(update.record.outcome)) return;
  boost::asio::post(services_.loop, [this, id = update.record.id, role = update.record.role] {
    boost::asio::post(services_.loop, [this, id, role] {
      if (role == Role::kDeparture) {
        departures_.erase(id);
      } else {
        arrivals_.erase(id);
      }
      sweep_.look();
    });
  });
}

void Coordinator::toSessions(const DomainUuid& uuid, std::function<void(Session&)> what) {
  boost::asio::post(services_.loop, [this, uuid, what = std::move(what)] {
    std::vector<std::shared_ptr<Session>>
        concerned;  // a session may end, and another begin, while it is told
    for (const auto& [id, session] : departures_) {
      if (session->record().uuid == uuid) concerned.push_back(session);
    }
    for (const auto& [id, session] : arrivals_) {
      if (session->record().uuid == uuid) concerned.push_back(session);
    }
    for (const auto& session : concerned) what(*session);
  });
}

void Coordinator::onLifecycle(const DomainUuid& uuid, Lifecycle event, LifecycleDetail detail) {
  toSessions(uuid, [event, detail](Session& session) { session.onLifecycle(event, detail); });
  if (event == Lifecycle::kStopped || event == Lifecycle::kCrashed || event == Lifecycle::kUndefined)
    boost::asio::post(services_.loop, [this] { sweep_.look(); });
}
void Coordinator::onDeviceRemoved(const DomainUuid& uuid, const DeviceAlias& alias) {
  toSessions(uuid, [alias](Session& session) { session.onDeviceRemoved(alias); });
}
void Coordinator::onDeviceRemovalFailed(const DomainUuid& uuid, const DeviceAlias& alias) {
  toSessions(uuid, [alias](Session& session) { session.onDeviceRemovalFailed(alias); });
}
void Coordinator::onMigrationIteration(const DomainUuid& uuid, int iteration) {
  toSessions(uuid, [iteration](Session& session) { session.onMigrationIteration(iteration); });
}
void Coordinator::onJobCompleted(const DomainUuid& uuid) {
  toSessions(uuid, [](Session& session) { session.onJobCompleted(); });
}

void Coordinator::onConnection(bool connected) {
  spdlog::info("libvirt: {}", connected ? "connected" : "connection lost");
  if (!connected) return;
  boost::asio::post(services_.loop, [this] {
    std::vector<std::shared_ptr<Session>> all;
    for (const auto& [id, session] : departures_) all.push_back(session);
    for (const auto& [id, session] : arrivals_) all.push_back(session);
    for (const auto& session : all) session->onReconnected();
    sweep_.look();  // a VM may have ended while nobody told us
  });
}

}  // namespace rdmove
