// The host's PFs and VFs as values, from sysfs, rtnetlink, rdma netlink and /proc. Internal to the fabric; it
// keeps nothing, so that what it says is what is. Blocks shortly, any thread.
#pragma once

#include <memory>

#include "coordinator/fabric/identity/vf_port.hpp"
#include "coordinator/fabric/inventory/dcb.hpp"
#include "coordinator/fabric/inventory/host_users.hpp"
#include "coordinator/fabric/inventory/rdma_devices.hpp"
#include "coordinator/fabric/sysfs_files.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"

namespace rdmove::fabric {

/// What is looked at and written to; one each, and another only in tests. `port` and `users` use `files`.
struct HostAccess {
  std::unique_ptr<SysfsFiles> files;
  std::unique_ptr<VfPort> port;
  std::unique_ptr<HostUsers> users;
  std::unique_ptr<RdmaDevices> rdma;
  std::unique_ptr<DcbPorts> dcb;
};

HostAccess makeHostAccess(const std::filesystem::path& sysfs_root);

class Inventory {
 public:
  explicit Inventory(HostAccess& host) : host_(host) {}

  PfInfo pf(const SysfsPf& pf, const PoolName& pool);
  /// All of one PF. `named` is what the pool's configuration calls it.
  std::vector<VfInfo> vfs(const SysfsPf& pf, const PoolName& pool, const std::string& named);
  /// What the driver tells of a VF, by the metadata's names.
  Words told(const VfPlace& vf);

 private:
  std::string firmwareOf(const std::string& rdma);

  HostAccess& host_;
};

}  // namespace rdmove::fabric
