// Reads and rewrites the parts of a libvirt domain XML that rdmove cares for. Pure functions over text
// (pugixml inside); any thread. Inputs come from libvirt or, on the arrival, from a partner: bounded to 1
// MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

/// "0000:00:03.0"-like guest address of a device, as libvirt's <address type='pci' .../> says it.
struct GuestDevice {
  DeviceAlias alias;
  std::string element;  ///< the whole device element as text
  std::string kind;     ///< "interface" or "hostdev"
  std::optional<MacAddress> mac;
  std::optional<std::string> pci_address;
  bool teamed = false;  ///< <teaming type='transient'>: QEMU itself unplugs it for a migration
};

/// The device with this user alias; kNotFound when the domain has none.
Result<GuestDevice> findDevice(const std::string& domain_xml, const DeviceAlias& alias);

/// The element as it can travel: user alias, MAC, model and guest address kept; target dev, backend state,
/// host source (bridge, PCI address of the VF) removed.
Result<std::string> portableDevice(const std::string& device_element);

/// A portable element for a device of which there is none to copy. `infiniband`: a plain <hostdev>, without a
/// MAC. kBadInput when an interface has no MAC in its declaration.
Result<std::string> newDevice(const VfDeclaration& declaration, bool infiniband);

/// A portable element bound to a bridge, or to a VF by PCI address ("0000:3b:00.2"); ready for attach.
Result<std::string> bindToBridge(const std::string& portable, const std::string& bridge);
Result<std::string> bindToVf(const std::string& portable, const std::string& pci_address,
                             std::optional<int> vlan);

/// domain_xml with the device of this alias replaced (or added when absent) by `element`.
Result<std::string> replaceDevice(const std::string& domain_xml, const DeviceAlias& alias,
                                  const std::string& element);

/// True when both elements are the same device for the guest: alias, MAC, model and guest PCI address.
bool sameForGuest(const std::string& element_a, const std::string& element_b);

/// True when both elements are made of the same thing of the host: a VF by its PCI address, or a bridge.
bool sameOnHost(const std::string& element_a, const std::string& element_b);

/// Of a domain that a mover brings: who it is, and whether its metadata declares devices that rdmove moves. Both are
/// read without a look at what is declared.
struct IncomingDomain {
  DomainUuid uuid;
  bool declares_vfs = false;
};
Result<IncomingDomain> incomingDomain(const std::string& domain_xml);

/// What a domain may lock, which with a VF is all of its memory (VFIO pins it) and some for the device.
struct LockableMemory {
  std::uint64_t memory_kib = 0;
  std::optional<std::uint64_t>
      hard_limit_kib;  ///< absent: libvirt sets the limit by itself as a VF is attached
};
Result<LockableMemory> lockableMemory(const std::string& domain_xml);

/// What a domain takes of the host that runs it.
struct DomainSize {
  std::uint64_t memory_kib = 0;
  unsigned vcpus = 1;  ///< those that are plugged
};
Result<DomainSize> domainSize(const std::string& domain_xml);

/// What the domain needs of its host's machine; host_cpu stays empty. Empty where the XML does not say.
Result<GuestMachine> guestMachine(const std::string& domain_xml);
/// Its CPU is the host's own (mode host-passthrough, or maximum), which libvirt compares with no other's.
bool seesHostCpu(const GuestMachine& guest);
/// <host><cpu> of libvirt's capabilities; kNotFound when they have none.
Result<std::string> hostCpuOf(const std::string& capabilities_xml);

/// Host-side names that any definition claims: bridges are not claimed, VF PCI addresses are.
Result<std::vector<std::string>> claimedVfs(const std::string& domain_xml);

}  // namespace rdmove
