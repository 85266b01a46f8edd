// Where a VF's settings are kept: with its PF's driver, which is spoken to over rtnetlink, or through the
// files that mlx4 and the vendor's mlx5 put into sysfs. One implementation each; makeVfPorts() chooses by
// what the host has. Internal to the fabric; calls block shortly, any thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/fabric/identity/settings.hpp"
#include "coordinator/fabric/sysfs_files.hpp"

namespace rdmove::fabric {

enum class LinkLayer { kUnknown, kEthernet, kInfiniBand };
std::string_view toString(LinkLayer layer);  ///< "Ethernet", "InfiniBand", "unknown"

/// A PF, as sysfs and netlink call it.
struct PfPlace {
  std::string pci;     ///< "0000:3b:00.0"
  std::string netdev;  ///< empty when it has none
  std::string rdma;    ///< "mlx5_0"; empty: no driver of the host's makes an RDMA device of it
  std::string driver;  ///< "mlx5_core"
  LinkLayer layer = LinkLayer::kUnknown;
  unsigned vfs = 0;  ///< how many there are
};

struct VfPlace {
  PfPlace pf;
  unsigned index = 0;  ///< netlink's VF number, the N of virtfnN
  std::string pci;
};

/// What is in force for a VF, read only: it may come late, or differ from what was asked for.
struct LiveTables {
  std::optional<unsigned> gid_row;  ///< the VF's row in the port's GID table
  std::optional<Guid> granted;  ///< the port GUID in that row, as the subnet manager granted it; zero: none
  std::vector<PartitionKey> pkeys{};  ///< as the VF sees them, up to the last that it has
};

class VfPort {
 public:
  virtual ~VfPort() = default;
  /// All that the driver tells. kNotFound when the PF has no such VF.
  virtual Result<VfSettings> read(const VfPlace& vf) = 0;
  /// The same for all VFs of a PF, by index.
  virtual Result<std::vector<VfSettings>> readAll(const PfPlace& pf);
  /// The fields that can be set here, and nothing said against the values.
  virtual std::set<Field> settable(const VfPlace& vf) = 0;
  /// Sets one field. Success does not mean that it took: read() tells.
  virtual Result<void> write(const VfPlace& vf, Field field, const VfSettings& values) = 0;
  /// What a VF is set to that is nobody's; what drivers begin with differently is absent.
  virtual VfSettings nobody(const VfPlace& vf, const VfSettings& now) = 0;
  /// False for a GUID that is told as 0 though the VF may have one.
  virtual bool isTold(const VfPlace& vf, Field field, const VfSettings& now);
  /// The port's own P_Key table by index, of which a VF's is made; empty where a VF's table is the subnet
  /// manager's affair alone.
  virtual Result<std::vector<PartitionKey>> portPartitions(const VfPlace& vf);
  virtual Result<LiveTables> tables(const VfPlace& vf);
  /// Where a human looks: "ip link show ens1".
  virtual std::string whereToLook(const VfPlace& vf) = 0;
};

/// rtnetlink: Ethernet, and InfiniBand of mlx5 (Linux 5.5 and later, which can be read back).
std::unique_ptr<VfPort> makeNetlinkVfPort();
/// /sys/bus/pci/devices/PF/sriov/N/{node,port,policy} of the vendor's mlx5 driver, InfiniBand.
std::unique_ptr<VfPort> makeMlx5SysfsPort(SysfsFiles& files);
/// /sys/class/infiniband/mlx4_0/iov (drivers/infiniband/hw/mlx4/sysfs.c), InfiniBand.
std::unique_ptr<VfPort> makeMlx4SysfsPort(SysfsFiles& files);
/// The one of these that a VF's PF has; `netlink` where it has none of the files.
std::unique_ptr<VfPort> makeVfPorts(SysfsFiles& files, std::unique_ptr<VfPort> netlink);

}  // namespace rdmove::fabric
