// Who of the host itself uses a VF, beside libvirt's domains: a process with the RDMA device open (verbs, or
// VFIO), or the host's own network configuration. Internal to the fabric; reads /proc and asks rtnetlink, any
// thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/sysfs_files.hpp"

namespace rdmove::fabric {

/// What of a VF can be held: by these a user is found.
struct Handles {
  std::vector<std::string> devices;  ///< "/dev/infiniband/uverbs3", "/dev/vfio/42"
  std::vector<std::string> netdevs;
};

Handles handlesOf(const SysfsFiles& files, const std::string& pci);

class HostUsers {
 public:
  virtual ~HostUsers() = default;
  /// By the same index as asked. One look for all: a walk through /proc takes some ms.
  virtual std::vector<std::vector<VfUser>> of(const std::vector<Handles>& vfs) = 0;
};

/// `proc` is another tree only in tests. A process that ends meanwhile, or that may not be looked at, is
/// passed over.
std::unique_ptr<HostUsers> makeHostUsers(const SysfsFiles& files, std::filesystem::path proc = "/proc");

}  // namespace rdmove::fabric
