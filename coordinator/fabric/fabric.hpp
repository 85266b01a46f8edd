// The host's pools: which VFs there are, who has them, and how a device element is bound to one.
// A `bridge` pool is a paravirtual NIC on a bridge (soft-RoCE in the guest): its "VFs" are numbered slots,
// "br0#0" to "br0#N-1", which are interchangeable. An attached NIC has no number: it is
// "br0#52:54:00:77:00:01", by its MAC, and takes one slot of the pool, whichever (free_vfs.hpp counts so). A
// `sriov` pool is the VFs of named PFs, by PCI address. Calls may read sysfs and netlink and are made from
// workers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

struct Config;

struct VfInfo {
  VfName name;
  PoolName pool;
  std::string kind;                ///< "bridge" or "sriov"
  std::string parent;              ///< bridge or PF
  std::optional<MacAddress> mac;   ///< sriov: as the PF tells it
  std::string driver;              ///< sriov: "vfio-pci", "mlx5_core", "" when unbound
  std::optional<int> iommu_group;  ///< sriov: absent without an IOMMU
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  /// All of all pools, free or not. A PF that is not there fails the call: its pool is not what the operator
  /// thinks.
  virtual Result<std::vector<VfInfo>> vfs() = 0;
  virtual bool hasPool(const PoolName&) const = 0;
  virtual bool softRoce(const PoolName&) const = 0;  ///< the guest makes its RDMA device itself
  /// The portable element bound to this VF, as it is to be attached. The VF may be a slot's number or what
  /// locate() said; it must be of the declaration's pool.
  virtual Result<std::string> bind(const VfName&, const MovingVf&) = 0;
  /// Takes the identity off a VF that left its VM, and reads back that it is gone. A VF that no longer has it
  /// (libvirt put back what was there before) is left alone. On bridge pools nothing is left behind: the tap
  /// goes with the device. kRefused for InfiniBand GUIDs, which are not programmed yet.
  virtual Result<void> takeIdentity(const VfName&, const Identity&) = 0;
  /// Which VF (or slot) a live device element occupies on this host; kNotFound when none of the pool's.
  virtual Result<VfName> locate(const PoolName&, const std::string& device_element) = 0;
  /// All that the devices of this live domain occupy, in the form of locate(): of its NICs on a pool's bridge
  /// only those that its rdmove metadata declares for that pool; of hostdevs all that are a pool's VF.
  virtual Result<std::vector<VfName>> occupied(const std::string& domain_xml) {
    (void)domain_xml;
    return std::vector<VfName>{};
  }
};

/// Copies what it needs of the configuration. `sysfs_root` is another tree only in tests.
std::unique_ptr<Fabric> makeFabric(const Config& config, const std::filesystem::path& sysfs_root = "/sys");

}  // namespace rdmove
