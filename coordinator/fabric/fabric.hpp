// The host's pools: which VFs there are, who has them, and how a device element is bound to one.
// A `bridge` pool is a paravirtual NIC on a bridge (soft-RoCE in the guest): its "VFs" are numbered slots,
// "br0#0" to "br0#N-1", which are interchangeable. An attached NIC has no number: it is
// "br0#52:54:00:77:00:01", by its MAC, and takes one slot of the pool, whichever (free_vfs.hpp counts so). A
// `sriov` pool is the VFs of named PFs, by PCI address. Calls may read sysfs and netlink and are made from
// workers.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

struct Config;

/// Somebody of the host itself who has a VF: whatever it is, the VF is not free.
struct VfUser {
  int pid = 0;       ///< 0: the host's own network
  std::string name;  ///< the process's, or the interface's
  std::string what;  ///< "/dev/infiniband/uverbs3", "ens1v0 has an address"
  bool operator==(const VfUser&) const = default;
};

/// A physical function of a pool.
struct PfInfo {
  std::string pci;
  PoolName pool;
  std::string netdev;
  std::string rdma;  ///< its RDMA device; empty: RDMA is off
  std::string driver;
  std::string firmware;    ///< empty: the driver does not tell
  std::string link_layer;  ///< "Ethernet", "InfiniBand", "unknown"
  std::optional<int> numa_node;
  unsigned vfs = 0;
  unsigned most_vfs = 0;
  bool switched_off = false;        ///< administratively down: libvirt attaches none of its VFs
  std::string link{};               ///< operstate: "up", "down", "unknown"; empty without a network interface
  std::optional<int> mtu{};         ///< bytes
  std::optional<int> speed_mbit{};  ///< absent: the driver does not tell, or the link is down
  // Data centre bridging as words (inventory/dcb.hpp); empty: the driver does not tell.
  std::string pfc{};  ///< "3,4", "none"
  std::string ets{};
};

struct VfInfo {
  VfName name;
  PoolName pool;
  std::string kind;                ///< "bridge" or "sriov"
  std::string parent;              ///< bridge or PF
  std::optional<MacAddress> mac;   ///< sriov: as the PF tells it
  std::string driver;              ///< sriov: "vfio-pci", "mlx5_core", "" when unbound
  std::optional<int> iommu_group;  ///< sriov: absent without an IOMMU
  // sriov alone
  std::string pf{};    ///< PCI address
  std::string pf_driver{};
  bool pf_switched_off = false;
  /// Other devices of its IOMMU group that a driver of the host has, "0000:3b:00.0 (mlx5_core)": VFIO takes a
  /// group as a whole or not at all.
  std::vector<std::string> group_holders{};
  unsigned index{};    ///< netlink's VF number
  std::string rdma{};  ///< the RDMA device that a driver of this host has made of it
  std::string netdev{};
  std::string link_layer{};
  std::string firmware{};
  std::optional<int> numa_node{};
  std::vector<VfUser> users{};
};

/// Settings by the names of the metadata's attributes, in their order: {"mac", "52:54:00:77:00:01"}. mlx4 has
/// "gid-row", "granted-port-guid" and "pkey-slots" besides.
using Words = std::vector<std::pair<std::string, std::string>>;

/// One VF looked at closely.
struct VfDetails {
  VfInfo vf;
  std::optional<PfInfo> pf;  ///< sriov
  Words told;                ///< what its PF's driver tells of it now
};

/// What the journal keeps of a VF from before it gets a VM's identity until that is off again, as JSON texts
/// (docs/journal.md). Both empty: there is nothing to remember.
struct IdentityRecord {
  std::string before;
  std::string given;
  bool empty() const { return before.empty() && given.empty(); }
};

/// Of an <interface type='hostdev'> libvirt sets MAC and VLAN as it attaches it, so its turn is after that;
/// all else is given while nobody hears it.
enum class Attached { kNotYet, kYes };

class Fabric {
 public:
  virtual ~Fabric() = default;
  /// All of all pools, free or not. A PF that is not there fails the call: its pool is not what the operator
  /// thinks.
  virtual Result<std::vector<VfInfo>> vfs() = 0;
  /// The PFs of the sriov pools.
  virtual Result<std::vector<PfInfo>> pfs() = 0;
  /// kNotFound when no pool has it.
  virtual Result<VfDetails> look(const VfName&) = 0;
  virtual bool hasPool(const PoolName&) const = 0;
  virtual bool softRoce(const PoolName&) const = 0;  ///< the guest makes its RDMA device itself
  /// The portable element bound to this VF, as it is to be attached. The VF may be a slot's number or what
  /// locate() said; it must be of the declaration's pool.
  virtual Result<std::string> bind(const VfName&, const MovingVf&) = 0;

  // The identity, in this order. Each is all or nothing and may be called again. Bridge pools have none on
  // the host: the tap goes with the device.
  /// Checks and reads; changes nothing. The record is to be durable before the next call. `kept`: the
  /// journal's of an earlier time.
  virtual Result<IdentityRecord> planIdentity(const VfName&, const MovingVf&,
                                              const std::optional<IdentityRecord>& kept) = 0;
  /// Puts on the VF what can be there without being heard.
  virtual Result<void> stageIdentity(const VfName&, const MovingVf&, const IdentityRecord&) = 0;
  /// Live, and read back. To be called once before the attach and once after it.
  virtual Result<void> giveIdentity(const VfName&, const MovingVf&, const IdentityRecord&, Attached) = 0;
  /// Takes the identity off a VF that left its VM, puts back what was there before, and reads that back. A VF
  /// that no longer has it (libvirt put back what was there before) keeps its addresses.
  virtual Result<void> takeIdentity(const VfName&, const Identity&,
                                    const std::optional<IdentityRecord>& kept) = 0;
  /// The record of a VF that got this identity from somebody else: what was before is not known.
  virtual IdentityRecord recordOf(const VfName&, const Identity&) = 0;
  /// The host's driver that a VF was taken from and is given back to; empty when none had it.
  virtual std::string hostDriver(const IdentityRecord&) { return {}; }
  /// Binds a VF to that driver, if the kernel has not done so by itself when it was given back.
  virtual Result<void> returnToDriver(const VfName&, const IdentityRecord&) { return {}; }
  /// One of a record's texts for people; empty when it is none.
  virtual Words wordsOf(const std::string& record_text) = 0;

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

/// Ends the watch when it goes; no call comes after that.
class VfWatch {
 public:
  virtual ~VfWatch() = default;
};
/// Looks at the VFs of all pools when the kernel says that something changed, and tells what did:
/// "0000:3b:00.2 of pool roce is gone". `tell` is called on the watch's own thread. kUnavailable when the
/// kernel cannot be listened to.
Result<std::unique_ptr<VfWatch>> watchVfs(Fabric& fabric, std::function<void(const std::string&)> tell);

}  // namespace rdmove
