// SR-IOV as sysfs shows it: a PF's VFs with their drivers and IOMMU groups. Internal to the fabric.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"

namespace rdmove::fabric {

struct SysfsVf {
  std::string pci;     ///< "0000:3b:00.2"
  unsigned index = 0;  ///< the number in virtfnN, netlink's VF number
  std::string driver;  ///< empty when unbound
  std::optional<int> iommu_group;
};

struct SysfsPf {
  std::string netdev;        ///< its first network interface; empty when it has none
  std::vector<SysfsVf> vfs;  ///< by index
};

/// `pf` is an interface name or a PCI address. kNotFound when there is no such PF; one without VFs is no
/// error.
Result<SysfsPf> readPf(const std::filesystem::path& sysfs_root, const std::string& pf);

}  // namespace rdmove::fabric
