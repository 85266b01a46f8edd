#include "coordinator/fabric/identity/identity_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/fabric/sysfs_sriov.hpp"

namespace rdmove::fabric {
namespace {

constexpr const char* kCorrect = "Correct its metadata with `rdmove define` or virsh metadata.";
constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 56;

tl::unexpected<Error> bad(std::string cause) {
  return failure(ErrorCode::kBadInput, "take this identity", std::move(cause), kCorrect);
}

Result<void> checkGuid(const char* name, const std::optional<Guid>& guid) {
  if (!guid) return {};
  if (*guid == Guid()) return bad(fmt::format("its {} is all zeros", name));
  if (*guid == Guid(~std::uint64_t{0})) return bad(fmt::format("its {} is all ones", name));
  if ((guid->value() & kGroupBit) != 0)
    return bad(fmt::format("its {} {} has the group bit of a multicast address", name, guid->str()));
  return {};
}

Result<void> checkPartitionKeys(const std::vector<PartitionKey>& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].partition() == 0) return bad(fmt::format("its P_Key {} is of partition 0", keys[i].str()));
    for (std::size_t j = 0; j < i; ++j) {
      if (keys[i].partition() == keys[j].partition())
        return bad(fmt::format("its P_Keys {} and {} are one partition", keys[j].str(), keys[i].str()));
    }
  }
  return {};
}

}  // namespace

Result<void> checkValues(const Identity& identity) {
  if (identity.mac && *identity.mac == MacAddress{}) return bad("its MAC is all zeros");
  if (identity.mac && (identity.mac->bytes()[0] & 1) != 0)
    return bad(fmt::format("its MAC {} is a multicast address", identity.mac->str()));
  if (identity.vlan && (*identity.vlan < 1 || *identity.vlan > 4094))
    return bad(fmt::format("its VLAN {} is not 1..4094", *identity.vlan));
  if ((identity.vlan_priority || identity.vlan_protocol) && !identity.vlan)
    return bad("it has a VLAN priority or protocol, and no VLAN");
  if (identity.vlan_priority && (*identity.vlan_priority < 0 || *identity.vlan_priority > 7))
    return bad(fmt::format("its VLAN priority {} is not 0..7", *identity.vlan_priority));
  const unsigned most = identity.max_rate.value_or(0);
  if (most != 0 && identity.min_rate.value_or(0) > most)
    return bad(fmt::format("its least rate {} Mbit/s is above its greatest, {}", *identity.min_rate, most));
  if (auto node = checkGuid("node GUID", identity.node_guid); !node) return node;
  if (auto port = checkGuid("port GUID", identity.port_guid); !port) return port;
  return checkPartitionKeys(identity.pkeys);
}

namespace {

bool ofInfiniBand(Field field) {
  return field == Field::kNodeGuid || field == Field::kPortGuid || field == Field::kPartitions;
}

bool ofEthernet(Field field) {
  return !ofInfiniBand(field) && field != Field::kLink;
}

std::string nameOfPf(const PfPlace& pf) {
  return pf.netdev.empty() ? pf.pci : pf.netdev;
}

bool declares(const Identity& identity, Field field) {
  return field == Field::kPartitions ? !identity.pkeys.empty() : has(settingsOf(identity), field);
}

/// ConnectX without an RDMA device: its driver can make one, and does not.
Result<void> checkRdma(const PfPlace& pf, const std::string& attempted) {
  const bool makes_one = pf.driver == "mlx5_core" || pf.driver == "mlx4_core";
  if (!makes_one || !pf.rdma.empty()) return {};
  return failure(
      ErrorCode::kRefused, attempted,
      fmt::format("RDMA is off on PF {}: {} has made no RDMA device of it", nameOfPf(pf), pf.driver),
      fmt::format("Load {}_ib, and see enable_rdma in `devlink dev param show pci/{}`.",
                  pf.driver.substr(0, 4), pf.pci));
}

Result<void> checkLayer(const Identity& identity, const PfPlace& pf, const std::string& attempted) {
  if (pf.layer == LinkLayer::kUnknown) {
    return failure(ErrorCode::kUnavailable, attempted,
                   fmt::format("PF {} has neither a network interface nor an RDMA device", nameOfPf(pf)),
                   "Load its driver, and see dmesg.");
  }
  const bool infiniband = pf.layer == LinkLayer::kInfiniBand;
  for (const Field field : kFields) {
    if (!declares(identity, field) || !(infiniband ? ofEthernet(field) : ofInfiniBand(field))) continue;
    return failure(ErrorCode::kRefused, attempted,
                   fmt::format("PF {} is in link layer {}, which has no {}", nameOfPf(pf), toString(pf.layer),
                               nameOf(field)),
                   "Correct the VM's metadata, or set the adapter's port to the other link layer.");
  }
  return {};
}

tl::unexpected<Error> notTold(Field field, const VfPlace& vf, const std::string& attempted) {
  const bool guid = field == Field::kNodeGuid || field == Field::kPortGuid;
  return failure(
      ErrorCode::kIncompatible, attempted,
      guid
          ? fmt::format("this kernel does not tell the {} of a VF, so it cannot be read back", nameOf(field))
          : fmt::format("{} does not tell a VF's {}, so it cannot be read back", vf.pf.driver, nameOf(field)),
      guid ? "Linux 5.5 with mlx5 does; so does the vendor's driver." : kCorrect);
}

}  // namespace

Result<void> checkFits(const Identity& identity, const VfPlace& vf, const std::set<Field>& settable,
                       const VfSettings& now) {
  const std::string attempted = fmt::format("give {} this identity", vf.pci);
  if (auto layer = checkLayer(identity, vf.pf, attempted); !layer) return layer;
  if (auto rdma = checkRdma(vf.pf, attempted); !rdma) return rdma;
  for (const Field field : kFields) {
    if (!declares(identity, field)) continue;
    if (!settable.contains(field)) {
      const bool keys = field == Field::kPartitions;
      return failure(ErrorCode::kRefused, attempted,
                     fmt::format("{} has no {} to set for a VF", vf.pf.driver, nameOf(field)),
                     keys ? "Its P_Keys come from the subnet manager, by port GUID: take pkeys out of the "
                            "metadata."
                          : kCorrect);
    }
    if (!has(now, field)) return notTold(field, vf, attempted);
  }
  return {};
}

Result<PartitionSlots> slotsFor(const std::vector<PartitionKey>& keys, const std::vector<PartitionKey>& port,
                                std::size_t slots) {
  const std::string attempted = "lay out the VF's P_Key table";
  if (keys.size() > slots) {
    return failure(ErrorCode::kRefused, attempted,
                   fmt::format("{} P_Keys do not go into its {} entries", keys.size(), slots), kCorrect);
  }
  PartitionSlots table(slots);
  for (std::size_t slot = 0; slot < keys.size(); ++slot) {
    const auto exact = std::find(port.begin(), port.end(), keys[slot]);
    if (exact != port.end()) {
      table[slot] = static_cast<unsigned>(exact - port.begin());
      continue;
    }
    const auto other = std::find_if(port.begin(), port.end(), [&](const PartitionKey& key) {
      return key.partition() == keys[slot].partition();
    });
    if (other != port.end()) {
      return failure(ErrorCode::kRefused, attempted,
                     fmt::format("P_Key {} asks for {} membership, and the port is a {} member ({})",
                                 keys[slot].str(), keys[slot].full() ? "full" : "limited",
                                 other->full() ? "full" : "limited", other->str()),
                     "Change the port's membership at the subnet manager, or the VM's metadata.");
    }
    const bool full =
        std::none_of(port.begin(), port.end(), [](const PartitionKey& key) { return key.partition() == 0; });
    return failure(ErrorCode::kRefused, attempted,
                   fmt::format("P_Key {} is not in the port's table{}", keys[slot].str(),
                               full ? fmt::format(", whose {} entries are all taken", port.size()) : ""),
                   "Make the port a member of that partition at the subnet manager.");
  }
  return table;
}

namespace {

tl::unexpected<Error> taken(const VfPlace& vf, const std::string& what, const std::string& by,
                            const std::string& see) {
  return failure(
      ErrorCode::kConflict, fmt::format("give {} this identity", vf.pci),
      fmt::format("{} is {}'s on this host", what, by),
      fmt::format("An address may be live once only: see `{}`, and take it off there first.", see));
}

/// What of the identity's addresses this one has; empty when none.
std::string clash(const Identity& identity, const VfSettings& other) {
  const VfSettings mine = settingsOf(identity);
  for (const Field field : {Field::kMac, Field::kNodeGuid, Field::kPortGuid}) {
    if (has(mine, field) && has(other, field) && same(field, mine, other)) return show(field, mine);
  }
  return {};
}

}  // namespace

Result<void> checkUnique(const Identity& identity, const VfPlace& vf, const std::vector<PfPlace>& pfs,
                         VfPort& port, const SysfsFiles& files) {
  for (const PfPlace& pf : pfs) {
    if (const auto what = clash(identity, ownAddresses(files, pf)); !what.empty())
      return taken(vf, what, "PF " + nameOfPf(pf), "rdmove vf list");
    const auto all = port.readAll(pf);
    if (!all) continue;
    for (unsigned index = 0; index < all->size(); ++index) {
      if (pf.pci == vf.pf.pci && index == vf.index) continue;
      const auto what = clash(identity, (*all)[index]);
      if (what.empty()) continue;
      return taken(vf, what, fmt::format("VF {} of {}", index, nameOfPf(pf)),
                   port.whereToLook(VfPlace{pf, index, ""}));
    }
  }
  return {};
}

}  // namespace rdmove::fabric
