// What a migration is about: the VM, its VFs, where it goes, and what the operator asked for.
// Made once in Preflight by the departure, journaled, and told to the arrival when it reserves.
// Plain values, any thread. JSON form (the journal's and the wire's): plan_json.hpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/types.hpp"
#include "coordinator/base/vf_values.hpp"

namespace rdmove {

/// Who a VF is on the network, and what its host lets it do there. Ethernet has MAC and VLAN; GUIDs and
/// P_Keys are InfiniBand's. What is absent is not programmed. Where each is set: docs/identity.md.
struct Identity {
  std::optional<MacAddress> mac;
  std::optional<int> vlan;  ///< 1..4094
  std::optional<Guid> node_guid;
  std::optional<Guid> port_guid;
  std::optional<int> vlan_priority{};  ///< 0..7; only with a VLAN
  std::optional<VlanProtocol> vlan_protocol{};
  std::vector<PartitionKey> pkeys{};  ///< the VF's table from index 0 on
  std::optional<bool> trust{};
  std::optional<bool> spoof_check{};
  std::optional<LinkPolicy> link{};
  std::optional<unsigned> min_rate{};  ///< Mbit/s
  std::optional<unsigned> max_rate{};  ///< Mbit/s
  bool operator==(const Identity&) const = default;
};

/// One `vf` element of the domain's rdmove metadata (docs/metadata.md).
struct VfDeclaration {
  DeviceAlias alias;
  PoolName pool;
  Model model = Model::kRoce;
  Continuity continuity = Continuity::kReconnect;
  Identity identity;
  bool operator==(const VfDeclaration&) const = default;
};

/// A VF that moves: its declaration, and the device element of the live XML with what belongs to one run
/// of QEMU taken out (target dev, link to the host's network), user alias and guest PCI address kept.
struct MovingVf {
  VfDeclaration declaration;
  std::string device_xml;
};

/// virsh migrate's options by their virsh names; what is absent is libvirt's default.
struct MigrationOptions {
  std::chrono::milliseconds timeout{0};   ///< whole transfer; 0: none
  std::optional<unsigned> bandwidth_mib;  ///< MiB/s
  std::optional<int> parallel_connections;
  bool postcopy = false;  ///< switch to post-copy after the first pass
  bool auto_converge = false;
  bool copy_storage_all = false;
  bool tls = false;
  std::optional<std::string> migrate_uri;
  bool force = false;  ///< go on over holdouts: the operator's word
  std::chrono::milliseconds prepare_deadline{2000};
  std::chrono::milliseconds hold{600000};  ///< another mover's migration is waited for so long
};

/// Whose migration it is. On the wire: do not renumber.
enum class Mover : int {
  kRdmove = 0,
  kAnother = 1  ///< virsh, a cloud's own: rdmove does its part around it (`rdmove prepare`)
};

struct Plan {
  MigrationId id;
  std::string domain;  ///< libvirt's name
  DomainUuid uuid;
  bool persistent = false;
  HostName source;
  HostName destination;
  std::vector<MovingVf> vfs;
  MigrationOptions options;
  Mover mover = Mover::kRdmove;
};

/// What the arrival promised for one moving VF.
struct LeasedVf {
  DeviceAlias alias;
  PoolName pool;
  VfName vf;
  std::string device_xml;  ///< as it will be attached on the destination
};

}  // namespace rdmove
