#include "coordinator/service/vf_listing.hpp"

#include "coordinator/preflight/occupancy.hpp"

namespace rdmove {
namespace {

v1::VfStatus describe(const VfInfo& vf) {
  v1::VfStatus status;
  status.set_name(vf.name.str());
  status.set_pool(vf.pool.str());
  status.set_kind(vf.kind);
  status.set_parent(vf.parent);
  if (vf.mac) status.set_mac(vf.mac->str());
  status.set_driver(vf.driver);
  status.set_state(vf.users.empty() ? "free" : "busy");
  status.set_pf(vf.pf);
  status.set_index(vf.index);
  status.set_rdma(vf.rdma);
  status.set_netdev(vf.netdev);
  status.set_link_layer(vf.link_layer);
  status.set_firmware(vf.firmware);
  if (vf.numa_node) status.set_numa_node(*vf.numa_node);
  if (vf.iommu_group) status.set_iommu_group(*vf.iommu_group);
  for (const VfUser& user : vf.users) {
    auto* message = status.add_users();
    message->set_pid(static_cast<unsigned>(user.pid));
    message->set_name(user.name);
    message->set_what(user.what);
  }
  return status;
}

void fill(google::protobuf::RepeatedPtrField<v1::NamedValue>* into, const Words& words) {
  for (const auto& [name, value] : words) {
    auto* message = into->Add();
    message->set_name(name);
    message->set_value(value);
  }
}

void take(v1::VfStatus& status, const Occupant& occupant) {
  status.set_state(occupant.live ? "attached" : "claimed");
  status.set_domain(occupant.domain);
}

}  // namespace

Result<std::vector<v1::VfStatus>> listVfs(Hypervisor& hypervisor, Fabric& fabric,
                                          const std::vector<LeaseRecord>& leases) {
  const auto all = fabric.vfs();
  if (!all) return tl::unexpected(all.error());
  auto taken = occupants(hypervisor, fabric);
  if (!taken) return tl::unexpected(taken.error());

  std::vector<v1::VfStatus> listing;
  for (const VfInfo& vf : *all) {
    v1::VfStatus status = describe(vf);
    if (const auto occupant = taken->find(vf.name); occupant != taken->end()) {
      take(status, occupant->second);
      taken->erase(occupant);
    }
    for (const LeaseRecord& lease : leases) {
      if (lease.vf != vf.name) continue;
      status.set_state("leased");
      status.set_domain(lease.migration.str());
    }
    listing.push_back(std::move(status));
  }
  // What is left are NICs on a pool's bridge: slots have no number of their own, so each takes the last free
  // one's row.
  for (const auto& [name, occupant] : *taken) {
    const auto hash = name.str().find('#');
    if (hash == std::string::npos) continue;
    const std::string bridge = name.str().substr(0, hash);
    for (auto row = listing.rbegin(); row != listing.rend(); ++row) {
      if (row->parent() != bridge || row->kind() != "bridge" || row->state() != "free") continue;
      row->set_name(name.str());
      row->set_mac(name.str().substr(hash + 1));
      take(*row, occupant);
      break;
    }
  }
  return listing;
}

v1::PfStatus toMessage(const PfInfo& pf) {
  v1::PfStatus message;
  message.set_pci(pf.pci);
  message.set_pool(pf.pool.str());
  message.set_netdev(pf.netdev);
  message.set_rdma(pf.rdma);
  message.set_driver(pf.driver);
  message.set_firmware(pf.firmware);
  message.set_link_layer(pf.link_layer);
  if (pf.numa_node) message.set_numa_node(*pf.numa_node);
  message.set_vfs(pf.vfs);
  message.set_most_vfs(pf.most_vfs);
  return message;
}

Result<v1::ShowVfReply> showVf(Hypervisor& hypervisor, Fabric& fabric, const std::vector<LeaseRecord>& leases,
                               const std::vector<VfRecord>& records, const VfName& name) {
  auto listing = listVfs(hypervisor, fabric, leases);
  if (!listing) return tl::unexpected(listing.error());
  v1::ShowVfReply reply;
  for (v1::VfStatus& status : *listing) {
    if (status.name() == name.str()) *reply.mutable_vf() = std::move(status);
  }
  if (!reply.has_vf()) {
    return failure(ErrorCode::kNotFound, "show " + name.str(), "no pool of this host has a VF of that name",
                   "`rdmove vf list` names those that are.");
  }
  const auto details = fabric.look(name);
  if (!details) return tl::unexpected(details.error());
  if (details->pf) *reply.mutable_pf() = toMessage(*details->pf);
  fill(reply.mutable_told(), details->told);
  for (const VfRecord& record : records) {
    if (record.vf != name) continue;
    fill(reply.mutable_before(), fabric.wordsOf(record.before));
    fill(reply.mutable_given(), fabric.wordsOf(record.given));
  }
  return reply;
}

}  // namespace rdmove
