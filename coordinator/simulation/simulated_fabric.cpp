#include "coordinator/simulation/simulated_fabric.hpp"

#include <fmt/format.h>

#include "coordinator/fabric/device_source.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"

namespace rdmove::simulation {
namespace {

std::string addressOf(const Identity& identity) {
  if (identity.port_guid) return identity.port_guid->str();
  return identity.mac ? identity.mac->str() : std::string();
}

/// What a record remembers: the address, and the host's driver behind this.
constexpr char kBefore = '@';

std::string addressIn(const std::string& before) {
  return before.substr(0, before.find(kBefore));
}

}  // namespace

Result<VirtualFunction*> SimulatedFabric::touch(const VfName& name, const std::string& attempted) {
  world_.fibers.sleep(world_.random.between(Duration(100), milliseconds(10)));
  host_.sweep_refused = host_.sweep_refused || host_.troubles.fabric_fails;
  if (host_.troubles.fabric_fails)
    return failure(ErrorCode::kUnavailable, attempted, "the driver refuses it");
  VirtualFunction* vf = host_.vf(name);
  if (vf == nullptr)
    return failure(ErrorCode::kNotFound, attempted, "no pool of this host has " + name.str());
  return vf;
}

Result<std::vector<VfInfo>> SimulatedFabric::vfs() {
  std::vector<VfInfo> all;
  for (const VirtualFunction& vf : host_.vfs) {
    VfInfo info;
    info.name = vf.name;
    info.pool = kPool;
    info.kind = "sriov";
    info.parent = "pf0";
    info.iommu_group = 1;
    info.driver = vf.with_vfio ? "vfio-pci" : vf.home;
    all.push_back(std::move(info));
  }
  return all;
}

Result<VfDetails> SimulatedFabric::look(const VfName& name) {
  const auto all = vfs();
  for (const VfInfo& vf : *all) {
    if (vf.name == name) return VfDetails{vf, std::nullopt, {}};
  }
  return failure(ErrorCode::kNotFound, "look at " + name.str(), "no pool of this host has it");
}

Result<std::string> SimulatedFabric::bind(const VfName& name, const MovingVf& moving) {
  const auto vf = touch(name, "bind " + name.str());
  if (!vf) return tl::unexpected(vf.error());
  return bindToVf(moving.device_xml, name.str(), std::nullopt);
}

Result<IdentityRecord> SimulatedFabric::planIdentity(const VfName& name, const MovingVf& moving,
                                                     const std::optional<IdentityRecord>& kept) {
  const auto vf = touch(name, "plan the identity of " + name.str());
  if (!vf) return tl::unexpected(vf.error());
  const bool carries = kept && (*vf)->address == kept->given;
  const std::string driver = (*vf)->with_vfio ? (kept ? hostDriver(*kept) : "") : (*vf)->home;
  return IdentityRecord{(carries ? addressIn(kept->before) : (*vf)->address) + kBefore + driver,
                        addressOf(moving.declaration.identity)};
}

/// With the link down, as mlx5 takes a GUID; a MAC is libvirt's to set, at the attach.
Result<void> SimulatedFabric::stageIdentity(const VfName& name, const MovingVf& moving,
                                            const IdentityRecord& record) {
  const auto vf = touch(name, "stage the identity on " + name.str());
  if (!vf) return tl::unexpected(vf.error());
  if (!moving.declaration.identity.port_guid) return {};
  (*vf)->link_down = true;
  (*vf)->address = record.given;
  return {};
}

Result<void> SimulatedFabric::giveIdentity(const VfName& name, const MovingVf& moving, const IdentityRecord&,
                                           Attached attached) {
  const std::string attempted = "give " + name.str() + " its identity";
  const Identity& identity = moving.declaration.identity;
  const bool ours = identity.port_guid.has_value();
  if (ours != (attached == Attached::kNotYet)) return {};
  const auto vf = touch(name, attempted);
  if (!vf) return tl::unexpected(vf.error());
  if (!ours) {
    if ((*vf)->address == addressOf(identity)) return {};
    return failure(ErrorCode::kConflict, attempted, "the driver tells " + (*vf)->address);
  }
  (*vf)->address = addressOf(identity);
  (*vf)->link_down = false;
  world_.say(fmt::format("{}: {} is {} now", host_.name.str(), name.str(), (*vf)->address));
  world_.fibers.sleep(world_.random.between(Duration(50), milliseconds(3)));
  return {};
}

Result<void> SimulatedFabric::takeIdentity(const VfName& name, const Identity& identity,
                                           const std::optional<IdentityRecord>& kept) {
  const auto vf = touch(name, "take the identity off " + name.str());
  if (!vf) return tl::unexpected(vf.error());
  const std::string given = kept && !kept->given.empty() ? kept->given : addressOf(identity);
  for (const auto& [uuid, domain] : host_.domains) {
    if (!domain.device || domain.device->vf != name) continue;
    world_.broken({"a VM keeps what it has", world_.guest(uuid)->name + " was to lose its identity on " + name.str()});
  }
  if ((*vf)->address == given) {
    const std::string before = kept ? addressIn(kept->before) : "";
    (*vf)->address = !before.empty() && before != given ? before : (*vf)->own;
    (*vf)->link_down = false;
    world_.say(fmt::format("{}: {} is {} again", host_.name.str(), name.str(), (*vf)->address));
  }
  world_.fibers.sleep(world_.random.between(Duration(50), milliseconds(3)));
  return {};
}

std::string SimulatedFabric::hostDriver(const IdentityRecord& record) {
  const auto at = record.before.find(kBefore);
  return at == std::string::npos ? "" : record.before.substr(at + 1);
}

IdentityRecord SimulatedFabric::recordOf(const VfName&, const Identity& identity) {
  return {"", addressOf(identity)};
}

Result<VfName> SimulatedFabric::locate(const PoolName&, const std::string& device_element) {
  const auto device = fabric::readDeviceSource(device_element);
  if (!device) return tl::unexpected(device.error());
  const VfName name(device->pci.value_or(""));
  if (host_.vf(name) != nullptr) return name;
  return failure(ErrorCode::kNotFound, "find a device in the pool", "it is no VF of this host");
}

Result<std::vector<VfName>> SimulatedFabric::occupied(const std::string& domain_xml) {
  const auto domain = fabric::readDomainDevices(domain_xml);
  if (!domain) return tl::unexpected(domain.error());
  std::vector<VfName> names;
  for (const fabric::DeviceSource& device : domain->devices) {
    if (device.pci && host_.vf(VfName(*device.pci)) != nullptr) names.emplace_back(*device.pci);
  }
  return names;
}

}  // namespace rdmove::simulation
