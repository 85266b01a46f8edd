#include "coordinator/service/convert_evacuation.hpp"

#include "coordinator/service/convert.hpp"

namespace rdmove {
namespace {

constexpr unsigned kDefaultParallel = 2;

std::string nameOf(const std::vector<evacuation::Member>& members, const DomainUuid& uuid) {
  for (const evacuation::Member& member : members) {
    if (member.row.uuid == uuid) return member.row.domain;
  }
  return uuid.str();
}

v1::EvacuationVm toMessage(const evacuation::Member& member, const std::vector<evacuation::Member>& all) {
  v1::EvacuationVm message;
  const EvacuatedVm& row = member.row;
  message.set_domain(row.domain);
  message.set_uuid(row.uuid.str());
  message.set_state(std::string(toString(row.state)));
  message.set_destination(row.destination.str());
  message.set_migration(row.migration.str());
  message.set_reason(row.reason);
  message.set_began_us(row.began_us);
  message.set_ended_us(row.ended_us);
  message.set_memory_kib(member.need.memory_kib);
  message.set_vcpus(member.need.vcpus);
  for (const auto& [pool, count] : member.need.vfs) (*message.mutable_vfs())[pool.str()] = count;
  for (const DomainUuid& peer : member.need.peers) message.add_peers(nameOf(all, peer));
  for (const evacuation::Try& each : member.tried) {
    auto* tried = message.add_tried();
    tried->set_destination(each.destination.str());
    tried->set_migration(each.migration.str());
    tried->set_reason(each.reason);
  }
  return message;
}

}  // namespace

evacuation::Request fromMessage(const v1::EvacuateRequest& message,
                                std::chrono::milliseconds default_prepare) {
  evacuation::Request request;
  for (const std::string& host : message.destinations()) request.destinations.emplace_back(host);
  request.limits.max_parallel = message.max_parallel() == 0 ? kDefaultParallel : message.max_parallel();
  request.limits.per_fabric = message.per_fabric();
  request.limits.peers_together = message.peers_together();
  request.options = fromMessage(message.options(), default_prepare);
  return request;
}

v1::EvacuationSummary toMessage(const evacuation::Account& account, const HostName& host) {
  v1::EvacuationSummary message;
  message.set_id(account.record.id.str());
  message.set_host(host.str());
  message.set_outcome(std::string(toString(account.record.outcome)));
  message.set_cancelled(account.record.cancelled);
  for (const HostName& each : account.request.destinations) message.add_destinations(each.str());
  message.set_max_parallel(account.request.limits.max_parallel);
  message.set_per_fabric(account.request.limits.per_fabric);
  message.set_peers_together(account.request.limits.peers_together);
  message.set_created_us(account.record.created_us);
  message.set_updated_us(account.record.updated_us);
  for (const evacuation::Member& member : account.members)
    *message.add_vms() = toMessage(member, account.members);
  return message;
}

v1::EvacuationPlan toMessage(const evacuation::Draft& draft, const evacuation::Account& account,
                             const HostName& host) {
  v1::EvacuationPlan message;
  *message.mutable_evacuation() = toMessage(account, host);
  for (const HostRoom& room : draft.rooms) {
    auto* destination = message.add_destinations();
    destination->set_host(room.host.str());
    for (const auto& [pool, free] : room.free_vfs) (*destination->mutable_free_vfs())[pool.str()] = free;
    destination->set_memory_kib(room.memory_kib);
    destination->set_cpus(room.cpus);
    destination->set_vcpus(room.vcpus);
  }
  for (const Finding& finding : draft.findings) *message.add_findings() = toMessage(finding);
  return message;
}

v1::MigrationUpdate updateOf(const evacuation::Account& account, const HostName& host,
                             const std::string& message) {
  v1::MigrationUpdate update;
  auto* summary = update.mutable_migration();
  summary->set_id(account.record.id.str());
  summary->set_role("evacuation");
  summary->set_outcome(std::string(toString(account.record.outcome)));
  summary->set_phase(account.record.outcome == EvacuationOutcome::kRunning ? "Moving" : summary->outcome());
  summary->set_created_us(account.record.created_us);
  summary->set_updated_us(account.record.updated_us);
  *update.mutable_evacuation() = toMessage(account, host);
  update.set_message(message);
  update.set_final(account.record.outcome != EvacuationOutcome::kRunning);
  return update;
}

}  // namespace rdmove
