// SR-IOV as sysfs shows it: a PF, its VFs with their drivers and IOMMU groups, and what a device says of
// itself. Internal to the fabric. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/fabric/identity/vf_port.hpp"
#include "coordinator/fabric/sysfs_files.hpp"

namespace rdmove::fabric {

struct SysfsVf {
  std::string pci;     ///< "0000:3b:00.2"
  unsigned index = 0;  ///< the number in virtfnN, netlink's VF number
  std::string driver;  ///< empty when unbound
  std::optional<int> iommu_group;
  std::vector<std::string> group_holders;  ///< as VfInfo has them
};

struct SysfsPf {
  PfPlace place;             ///< its first network interface and RDMA device
  std::vector<SysfsVf> vfs;  ///< by index
};

/// `pf` is an interface name or a PCI address. kNotFound when there is no such PF; one without VFs is no
/// error.
Result<SysfsPf> readPf(const SysfsFiles& files, const std::string& pf);

/// All functions of this host that have VFs now.
std::vector<SysfsPf> readPfs(const SysfsFiles& files);

/// The PF's own MAC, node GUID and the GUID of its first port, as far as there are any.
VfSettings ownAddresses(const SysfsFiles& files, const PfPlace& pf);
/// Node GUID and first port's GUID of the RDMA device that a host driver has made of this PCI device; absent
/// without one. What a VF has, where its PF does not tell.
VfSettings guidsOfDevice(const SysfsFiles& files, const std::string& pci);

}  // namespace rdmove::fabric
