// The host's pools: which VFs there are, who has them, and how a device element is bound to one.
// A `bridge` pool is a paravirtual NIC on a bridge (soft-RoCE in the guest): its "VFs" are numbered slots.
// A `sriov` pool is the VFs of named PFs. Calls may read sysfs and netlink and are made from workers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

struct VfInfo {
  VfName name;
  PoolName pool;
  std::string kind;                 ///< "bridge" or "sriov"
  std::string parent;               ///< bridge or PF
  std::optional<MacAddress> mac;    ///< sriov: as the PF tells it
  std::string driver;               ///< sriov: "vfio-pci", "mlx5_core", "" when unbound
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual Result<std::vector<VfInfo>> vfs() = 0;
  virtual bool hasPool(const PoolName&) const = 0;
  virtual bool softRoce(const PoolName&) const = 0;  ///< the guest makes its RDMA device itself
  /// The portable element bound to this VF, as it is to be attached.
  virtual Result<std::string> bind(const VfName&, const MovingVf&) = 0;
  /// Takes the identity off a VF that left its VM, and reads back that it is gone.
  virtual Result<void> takeIdentity(const VfName&, const Identity&) = 0;
  /// Which VF (or slot) a live device element occupies on this host; kNotFound when none of ours.
  virtual Result<VfName> locate(const PoolName&, const std::string& device_element) = 0;
};

}  // namespace rdmove
