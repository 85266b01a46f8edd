#include "coordinator/fabric/identity/vf_message.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/addr.h>
#include <netlink/attr.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/route/link/sriov.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <map>

namespace rdmove::fabric {
namespace {

constexpr unsigned kNotTold = ~0U;
constexpr std::size_t kMostVfs = 4096;  // an SR-IOV capability counts to 65535; no adapter has that many

struct FreeVf {
  void operator()(rtnl_link_vf* it) const { rtnl_link_vf_put(it); }
  void operator()(nl_addr* it) const { nl_addr_put(it); }
  void operator()(nl_vf_vlans_t* it) const { rtnl_link_vf_vlan_put(it); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeVf>;

struct Guids {
  std::optional<Guid> node;
  std::optional<Guid> port;
};

/// libnl 3.7 sets a VF's GUIDs and does not read them.
std::map<unsigned, Guids> guidsOf(nlattr* list) {
  std::map<unsigned, Guids> guids;
  nlattr* vf = nullptr;
  int left = 0;
  nla_for_each_nested(vf, list, left) {
    nlattr* each = nullptr;
    int left_here = 0;
    nla_for_each_nested(each, vf, left_here) {
      const int type = nla_type(each);
      if (type != IFLA_VF_IB_NODE_GUID && type != IFLA_VF_IB_PORT_GUID) continue;
      if (nla_len(each) < static_cast<int>(sizeof(ifla_vf_guid))) continue;
      ifla_vf_guid told{};
      std::memcpy(&told, nla_data(each), sizeof told);
      Guids& of = guids[told.vf];
      (type == IFLA_VF_IB_NODE_GUID ? of.node : of.port) = Guid(told.guid);
    }
  }
  return guids;
}

std::optional<LinkPolicy> policyOf(std::uint32_t state) {
  switch (state) {
    case IFLA_VF_LINK_STATE_AUTO:
      return LinkPolicy::kAuto;
    case IFLA_VF_LINK_STATE_ENABLE:
      return LinkPolicy::kEnable;
    case IFLA_VF_LINK_STATE_DISABLE:
      return LinkPolicy::kDisable;
    default:
      return std::nullopt;
  }
}

std::uint32_t stateOf(LinkPolicy policy) {
  switch (policy) {
    case LinkPolicy::kEnable:
      return IFLA_VF_LINK_STATE_ENABLE;
    case LinkPolicy::kDisable:
      return IFLA_VF_LINK_STATE_DISABLE;
    case LinkPolicy::kAuto:
      break;
  }
  return IFLA_VF_LINK_STATE_AUTO;
}

std::optional<bool> switchOf(int (*get)(rtnl_link_vf*, std::uint32_t*), rtnl_link_vf* vf) {
  std::uint32_t value = kNotTold;
  if (get(vf, &value) < 0 || value == kNotTold) return std::nullopt;
  return value != 0;
}

std::optional<MacAddress> macOf(rtnl_link_vf* vf) {
  nl_addr* address = nullptr;
  if (rtnl_link_vf_get_addr(vf, &address) < 0 || nl_addr_get_len(address) != ETH_ALEN) return std::nullopt;
  const auto* b = static_cast<const unsigned char*>(nl_addr_get_binary_addr(address));
  return MacAddress::parse(
      fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3], b[4], b[5]));
}

std::optional<VlanTag> vlanOf(rtnl_link_vf* vf) {
  nl_vf_vlans_t* vlans = nullptr;
  if (rtnl_link_vf_get_vlans(vf, &vlans) < 0) return VlanTag{};
  const Owned<nl_vf_vlans_t> held(vlans);  // the getter took a reference for us
  if (held->size == 0 || held->vlans[0].vf_vlan == 0) return VlanTag{};
  return VlanTag{static_cast<int>(held->vlans[0].vf_vlan), static_cast<int>(held->vlans[0].vf_vlan_qos),
                 held->vlans[0].vf_vlan_proto == ETH_P_8021AD ? VlanProtocol::k8021ad : VlanProtocol::k8021Q};
}

void readEthernet(rtnl_link_vf* vf, VfSettings& out) {
  out.mac = macOf(vf);
  out.vlan = vlanOf(vf);
  out.trust = switchOf(&rtnl_link_vf_get_trust, vf);
  out.spoof_check = switchOf(&rtnl_link_vf_get_spoofchk, vf);
  nl_vf_rate rate{};
  (void)rtnl_link_vf_get_rate(vf, &rate);  // fails when both are 0, though they are told
  out.rates = Rates{rate.min_tx_rate, rate.max_tx_rate};
}

void keepLink(nl_object* object, void* into) {
  nl_object_get(object);
  static_cast<NetlinkOwned<rtnl_link>*>(into)->reset(reinterpret_cast<rtnl_link*>(object));
}

}  // namespace

Result<std::vector<VfSettings>> vfsOf(nl_msg* answer) {
  NetlinkOwned<rtnl_link> link;
  if (const int error = nl_msg_parse(answer, &keepLink, &link); error < 0 || !link) {
    return failure(ErrorCode::kUnavailable, "read a PF's VFs",
                   fmt::format("the kernel's answer is not understood: {}", nl_geterror(error)));
  }
  std::vector<VfSettings> vfs;
  // libnl walks the list without asking whether there is one.
  if (!rtnl_link_has_vf_list(link.get())) return vfs;
  nlattr* list = nlmsg_find_attr(nlmsg_hdr(answer), sizeof(ifinfomsg), IFLA_VFINFO_LIST);
  const auto guids = list != nullptr ? guidsOf(list) : std::map<unsigned, Guids>{};
  const bool ethernet = rtnl_link_get_arptype(link.get()) != ARPHRD_INFINIBAND;
  while (vfs.size() < kMostVfs) {
    const auto index = static_cast<unsigned>(vfs.size());
    const Owned<rtnl_link_vf> vf(rtnl_link_vf_get(link.get(), index));
    if (!vf) break;
    VfSettings& out = vfs.emplace_back();
    if (ethernet) readEthernet(vf.get(), out);
    std::uint32_t state = 0;
    if (rtnl_link_vf_get_linkstate(vf.get(), &state) == 0) out.link = policyOf(state);
    if (const auto told = guids.find(index); told != guids.end() && !ethernet) {
      out.node_guid = told->second.node;
      out.port_guid = told->second.port;
    }
  }
  return vfs;
}

namespace {

bool setMac(rtnl_link_vf* vf, const MacAddress& mac) {
  const Owned<nl_addr> address(nl_addr_build(AF_LLC, mac.bytes().data(), mac.bytes().size()));
  if (address) rtnl_link_vf_set_addr(vf, address.get());
  return address != nullptr;
}

bool setVlan(rtnl_link_vf* vf, const VlanTag& vlan) {
  nl_vf_vlans_t* vlans = nullptr;
  if (rtnl_link_vf_vlan_alloc(&vlans, 1) < 0) return false;
  const Owned<nl_vf_vlans_t> held(vlans);
  // libnl 3.7 puts the protocol into the message as it is, and the kernel takes it for big-endian.
  const std::uint16_t protocol = vlan.protocol == VlanProtocol::k8021ad ? htons(ETH_P_8021AD) : 0;
  vlans->vlans[0] = {static_cast<std::uint32_t>(vlan.id), static_cast<std::uint32_t>(vlan.priority),
                     protocol};
  rtnl_link_vf_set_vlans(vf, vlans);
  return true;
}

bool setField(rtnl_link_vf* vf, Field field, const VfSettings& values) {
  switch (field) {
    case Field::kMac:
      return setMac(vf, *values.mac);
    case Field::kVlan:
      return setVlan(vf, *values.vlan);
    case Field::kTrust:
      return rtnl_link_vf_set_trust(vf, *values.trust ? 1 : 0), true;
    case Field::kSpoofCheck:
      return rtnl_link_vf_set_spoofchk(vf, *values.spoof_check ? 1 : 0), true;
    case Field::kRates: {
      nl_vf_rate rate{RTNL_LINK_VF_RATE_API_NEW, 0, values.rates->max_mbit, values.rates->min_mbit};
      return rtnl_link_vf_set_rate(vf, &rate), true;
    }
    case Field::kNodeGuid:
      return rtnl_link_vf_set_ib_node_guid(vf, values.node_guid->value()), true;
    case Field::kPortGuid:
      return rtnl_link_vf_set_ib_port_guid(vf, values.port_guid->value()), true;
    case Field::kLink:
      return rtnl_link_vf_set_linkstate(vf, stateOf(*values.link)), true;
    case Field::kPartitions:
      break;  // no message of rtnetlink has them
  }
  return false;
}

}  // namespace

NetlinkOwned<rtnl_link> changeOf(unsigned index, Field field, const VfSettings& values) {
  NetlinkOwned<rtnl_link> change(rtnl_link_alloc());
  const Owned<rtnl_link_vf> vf(rtnl_link_vf_alloc());
  if (!change || !vf) return nullptr;
  rtnl_link_vf_set_index(vf.get(), index);
  if (!setField(vf.get(), field, values)) return nullptr;
  if (rtnl_link_vf_add(change.get(), vf.get()) < 0) return nullptr;
  return change;
}

}  // namespace rdmove::fabric
