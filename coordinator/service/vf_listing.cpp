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
  status.set_state("free");
  return status;
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

}  // namespace rdmove
