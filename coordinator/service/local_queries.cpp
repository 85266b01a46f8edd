// The reading calls of the local API.
#include <nlohmann/json.hpp>

#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/spans.hpp"
#include "coordinator/migration/transfer_samples.hpp"
#include "coordinator/service/convert.hpp"
#include "coordinator/service/convert_evacuation.hpp"
#include "coordinator/service/local_service.hpp"
#include "coordinator/service/on_loop.hpp"
#include "coordinator/service/vf_listing.hpp"

namespace rdmove {
namespace {

constexpr std::size_t kDefaultNewest = 50;
constexpr std::size_t kMostNewest = 1000;
constexpr std::string_view kTrafficFacts = "traffic-";

/// One migration with what the journal has of it.
struct Story {
  MigrationRecord record;
  std::vector<StepRecord> steps;
  std::vector<FactRecord> facts;
  std::vector<LeaseRecord> leases;
};

Result<Story> tell(Coordinator& coordinator, Journal& journal, const std::string& id) {
  const auto record = coordinator.find(id);
  if (!record) return tl::unexpected(record.error());
  auto steps = journal.steps(record->id, record->role);
  if (!steps) return tl::unexpected(steps.error());
  auto facts = journal.facts(record->id, record->role);
  if (!facts) return tl::unexpected(facts.error());
  auto leases = journal.leases();
  if (!leases) return tl::unexpected(leases.error());
  std::erase_if(*leases, [&](const LeaseRecord& lease) { return lease.migration != record->id; });
  return Story{*record, std::move(*steps), std::move(*facts), std::move(*leases)};
}

}  // namespace

grpc::Status LocalService::List(grpc::ServerContext*, const v1::ListRequest* request, v1::ListReply* reply) {
  const std::size_t newest =
      request->newest() == 0 ? kDefaultNewest : std::min<std::size_t>(request->newest(), kMostNewest);
  const auto records = onLoop(services_.loop, [this, newest] { return services_.journal.list(newest); });
  if (!records) return toLocalStatus(records.error());
  for (const MigrationRecord& record : *records) *reply->add_migrations() = toMessage(record);
  const auto evacuations =
      onLoop(services_.loop, [this, newest]() -> Result<std::vector<Evacuations::Account>> {
        const auto all = evacuations_.list();
        if (!all) return tl::unexpected(all.error());
        std::vector<Evacuations::Account> accounts;
        for (const EvacuationRecord& record : *all) {
          if (accounts.size() == newest) break;
          auto account = evacuations_.account(record.id);
          if (!account) return tl::unexpected(account.error());
          accounts.push_back(std::move(*account));
        }
        return accounts;
      });
  if (!evacuations) return toLocalStatus(evacuations.error());
  for (const Evacuations::Account& account : *evacuations)
    *reply->add_evacuations() = toMessage(account, services_.config.host);
  return grpc::Status::OK;
}

grpc::Status LocalService::Show(grpc::ServerContext*, const v1::ShowRequest* request, v1::ShowReply* reply) {
  const auto evacuated = evacuation(request->id());
  if (!evacuated) return toLocalStatus(evacuated.error());
  if (*evacuated) return showEvacuation(**evacuated, *reply);
  const auto story = onLoop(
      services_.loop, [this, &request] { return tell(coordinator_, services_.journal, request->id()); });
  if (!story) return toLocalStatus(story.error());
  *reply->mutable_migration() = toMessage(story->record);
  std::map<DeviceAlias, VfName> source_vfs;
  for (const FactRecord& fact : story->facts) {
    if (fact.name.rfind(kTrafficFacts, 0) == 0 || fact.name == kTransferSamples) continue;  // typed, below
    auto* value = reply->add_facts();
    value->set_name(fact.name);
    value->set_value(fact.value);
    if (fact.name.rfind("source-vf:", 0) == 0)
      source_vfs[DeviceAlias(fact.name.substr(10))] = VfName(fact.value);
  }
  for (const char* name : {kTrafficBefore, kTrafficRestored, kTrafficAfter}) {
    for (const FactRecord& fact : story->facts) {
      if (fact.name != name) continue;
      auto* snapshot = reply->add_traffic();
      snapshot->set_when(fact.name.substr(kTrafficFacts.size()));
      for (const DeviceTraffic& device : trafficFromJson(fact.value))
        *snapshot->add_devices() = toMessage(device);
    }
  }
  for (const FactRecord& fact : story->facts) {
    if (fact.name != kTransferSamples) continue;
    for (const TransferSample& sample : TransferSamples::read(fact.value))
      *reply->add_transfer() = toMessage(sample);
  }
  if (const auto plan = planFromJson(story->record.plan))
    *reply->mutable_plan() = toMessage(*plan, source_vfs);
  for (const StepRecord& step : story->steps) *reply->add_steps() = toMessage(step);
  for (const LeaseRecord& lease : story->leases) {
    auto* info = reply->add_leases();
    info->set_migration(lease.migration.str());
    info->set_alias(lease.alias.str());
    info->set_pool(lease.pool.str());
    info->set_vf(lease.vf.str());
    info->set_permanent(lease.permanent);
  }
  return grpc::Status::OK;
}

grpc::Status LocalService::GetTimeline(grpc::ServerContext*, const v1::TimelineRequest* request,
                                       v1::TimelineReply* reply) {
  const auto story = onLoop(
      services_.loop, [this, &request] { return tell(coordinator_, services_.journal, request->id()); });
  if (!story) return toLocalStatus(story.error());
  *reply->mutable_migration() = toMessage(story->record);
  for (const TimelineSpan& span : spansFrom(story->steps)) {
    auto* message = reply->add_spans();
    message->set_source(span.source);
    message->set_phase(span.phase);
    message->set_begin_us(span.begin_us);
    message->set_end_us(span.end_us.value_or(0));
    message->set_failed(span.failed);
    message->set_detail(span.detail);
  }
  return grpc::Status::OK;
}

grpc::Status LocalService::ListVfs(grpc::ServerContext*, const v1::ListVfsRequest*, v1::ListVfsReply* reply) {
  const auto leases = onLoop(services_.loop, [this] { return services_.journal.leases(); });
  if (!leases) return toLocalStatus(leases.error());
  auto listing = listVfs(services_.hypervisor, services_.fabric, *leases);
  if (!listing) return toLocalStatus(listing.error());
  for (v1::VfStatus& vf : *listing) *reply->add_vfs() = std::move(vf);
  const auto pfs = services_.fabric.pfs();
  if (!pfs) return toLocalStatus(pfs.error());
  for (const PfInfo& pf : *pfs) *reply->add_pfs() = toMessage(pf);
  return grpc::Status::OK;
}

grpc::Status LocalService::ShowVf(grpc::ServerContext*, const v1::ShowVfRequest* request,
                                  v1::ShowVfReply* reply) {
  const auto leases = onLoop(services_.loop, [this] { return services_.journal.leases(); });
  if (!leases) return toLocalStatus(leases.error());
  const auto records = onLoop(services_.loop, [this] { return services_.journal.vfRecords(); });
  if (!records) return toLocalStatus(records.error());
  auto shown = showVf(services_.hypervisor, services_.fabric, *leases, *records, VfName(request->name()));
  if (!shown) return toLocalStatus(shown.error());
  *reply = std::move(*shown);
  return grpc::Status::OK;
}

grpc::Status LocalService::QueryAgent(grpc::ServerContext*, const v1::QueryAgentRequest* request,
                                      v1::QueryAgentReply* reply) {
  const std::string method = request->method();
  if (method != "status" && method != "apps" && method != "counters" && method != "holdouts" &&
      method != "peers") {
    return toLocalStatus(Error{ErrorCode::kBadInput, "", "the agent has no " + method,
                               "Ask for status, apps, counters, holdouts or peers."});
  }
  const auto status = services_.hypervisor.find(request->domain());
  if (!status) return toLocalStatus(status.error());
  if (status->state != DomainState::kRunning) {
    return toLocalStatus(
        Error{ErrorCode::kRefused, "", status->name + " is not running (" + status->state_text + ")", ""});
  }
  auto link = std::make_shared<std::shared_ptr<AgentLink>>();
  const auto answer = awaitLoop<std::string>(
      services_.loop,
      [this, link, method, uuid = status->uuid](std::function<void(Result<std::string>)> done) {
        *link = services_.agents.link(uuid);
        (*link)->query(method, services_.config.timeouts.agent, std::move(done));
      });
  boost::asio::post(services_.loop, [link] { link->reset(); });
  if (!answer) return toLocalStatus(answer.error());
  reply->set_json(*answer);
  return grpc::Status::OK;
}

grpc::Status LocalService::Doctor(grpc::ServerContext*, const v1::DoctorRequest* request,
                                  v1::DoctorReply* reply) {
  std::vector<Finding> findings;
  if (request->domain().empty()) {
    findings = examiner_.examineHost();
  } else {
    Plan plan;
    plan.domain = request->domain();
    plan.destination = HostName(request->destination());
    findings =
        request->destination().empty() ? examiner_.examineDomain(plan) : examiner_.examine(plan).findings;
    if (!anyError(findings)) {
      findings.push_back({Severity::kOk, "ready",
                          request->destination().empty()
                              ? request->domain() + " is fit to be moved."
                              : request->domain() + " can be moved to " + request->destination() + ".",
                          "", services_.config.host.str()});
    }
  }
  for (const Finding& finding : findings) *reply->add_findings() = toMessage(finding);
  return grpc::Status::OK;
}

}  // namespace rdmove
