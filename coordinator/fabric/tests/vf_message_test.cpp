// The messages byte by byte: what `ip link set PF vf N …` sends, and what the kernel answers to a look.
#include "coordinator/fabric/identity/vf_message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <cstring>

namespace rdmove::fabric {
namespace {

struct Sent {
  int type = 0;
  std::vector<std::uint8_t> bytes;
};

/// The attributes of the one VF that a change of this field names.
std::vector<Sent> sent(unsigned index, Field field, const VfSettings& values) {
  const auto change = changeOf(index, field, values);
  if (!change) return {};
  const NetlinkOwned<rtnl_link> which(rtnl_link_alloc());
  rtnl_link_set_ifindex(which.get(), 9);
  nl_msg* made = nullptr;
  if (rtnl_link_build_change_request(which.get(), change.get(), 0, &made) < 0) return {};
  const NetlinkOwned<nl_msg> message(made);
  std::vector<Sent> out;
  nlattr* list = nlmsg_find_attr(nlmsg_hdr(message.get()), sizeof(ifinfomsg), IFLA_VFINFO_LIST);
  nlattr* vf = nullptr;
  int left = 0;
  int vfs = 0;
  nla_for_each_nested(vf, list, left) {
    EXPECT_EQ(nla_type(vf), IFLA_VF_INFO);
    ++vfs;
    nlattr* each = nullptr;
    int left_here = 0;
    nla_for_each_nested(each, vf, left_here) {
      const auto* data = static_cast<const std::uint8_t*>(nla_data(each));
      out.push_back({nla_type(each), {data, data + nla_len(each)}});
    }
  }
  EXPECT_EQ(vfs, 1);
  return out;
}

template <class Struct>
Struct as(const Sent& attribute) {
  Struct value{};
  EXPECT_GE(attribute.bytes.size(), sizeof value);
  std::memcpy(&value, attribute.bytes.data(), std::min(sizeof value, attribute.bytes.size()));
  return value;
}

TEST(VfChange, sends_one_field_and_nothing_else) {
  VfSettings values;
  values.mac = MacAddress::parse("52:54:00:77:00:01");
  values.vlan = VlanTag{7, 3, VlanProtocol::k8021Q};
  values.trust = true;
  values.spoof_check = false;
  values.rates = Rates{10, 2500};
  values.node_guid = Guid(0x0002c903000a1b2c);
  values.port_guid = Guid(0x0002c903000a1b2d);
  values.link = LinkPolicy::kDisable;
  const std::pair<Field, int> types[] = {{Field::kMac, IFLA_VF_MAC},
                                         {Field::kVlan, IFLA_VF_VLAN},
                                         {Field::kTrust, IFLA_VF_TRUST},
                                         {Field::kSpoofCheck, IFLA_VF_SPOOFCHK},
                                         {Field::kRates, IFLA_VF_RATE},
                                         {Field::kNodeGuid, IFLA_VF_IB_NODE_GUID},
                                         {Field::kPortGuid, IFLA_VF_IB_PORT_GUID},
                                         {Field::kLink, IFLA_VF_LINK_STATE}};
  for (const auto& [field, type] : types) {
    const auto out = sent(5, field, values);
    ASSERT_EQ(out.size(), 1U) << nameOf(field);
    EXPECT_EQ(out[0].type, type) << nameOf(field);
    std::uint32_t vf = 0;
    std::memcpy(&vf, out[0].bytes.data(), sizeof vf);
    EXPECT_EQ(vf, 5U) << nameOf(field);
  }
  const auto mac = as<ifla_vf_mac>(sent(5, Field::kMac, values).at(0));
  EXPECT_EQ(std::memcmp(mac.mac, values.mac->bytes().data(), 6), 0);
  const auto vlan = as<ifla_vf_vlan>(sent(5, Field::kVlan, values).at(0));
  EXPECT_EQ(vlan.vlan, 7U);
  EXPECT_EQ(vlan.qos, 3U);
  EXPECT_EQ(as<ifla_vf_trust>(sent(5, Field::kTrust, values).at(0)).setting, 1U);
  EXPECT_EQ(as<ifla_vf_spoofchk>(sent(5, Field::kSpoofCheck, values).at(0)).setting, 0U);
  const auto rate = as<ifla_vf_rate>(sent(5, Field::kRates, values).at(0));
  EXPECT_EQ(rate.min_tx_rate, 10U);
  EXPECT_EQ(rate.max_tx_rate, 2500U);
  EXPECT_EQ(as<ifla_vf_guid>(sent(5, Field::kNodeGuid, values).at(0)).guid, 0x0002c903000a1b2cU);
  EXPECT_EQ(as<ifla_vf_guid>(sent(5, Field::kPortGuid, values).at(0)).guid, 0x0002c903000a1b2dU);
  EXPECT_EQ(as<ifla_vf_link_state>(sent(5, Field::kLink, values).at(0)).link_state,
            static_cast<std::uint32_t>(IFLA_VF_LINK_STATE_DISABLE));
}

TEST(VfChange, takes_off_what_a_zero_takes_off) {
  VfSettings none;
  none.mac = MacAddress{};
  none.vlan = VlanTag{};
  none.port_guid = Guid();
  none.rates = Rates{};
  const auto mac = as<ifla_vf_mac>(sent(0, Field::kMac, none).at(0));
  EXPECT_EQ(std::memcmp(mac.mac, MacAddress{}.bytes().data(), 6), 0);
  EXPECT_EQ(as<ifla_vf_vlan>(sent(0, Field::kVlan, none).at(0)).vlan, 0U);
  EXPECT_EQ(as<ifla_vf_guid>(sent(0, Field::kPortGuid, none).at(0)).guid, 0U);
  EXPECT_EQ(as<ifla_vf_rate>(sent(0, Field::kRates, none).at(0)).max_tx_rate, 0U);
}

TEST(VfChange, names_a_service_vlan_by_its_ethertype) {
  VfSettings values;
  values.vlan = VlanTag{7, 3, VlanProtocol::k8021ad};
  const auto out = sent(5, Field::kVlan, values);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].type, IFLA_VF_VLAN_LIST);
  // One nested IFLA_VF_VLAN_INFO.
  ASSERT_GE(out[0].bytes.size(), NLA_HDRLEN + sizeof(ifla_vf_vlan_info));
  ifla_vf_vlan_info info{};
  std::memcpy(&info, out[0].bytes.data() + NLA_HDRLEN, sizeof info);
  EXPECT_EQ(info.vf, 5U);
  EXPECT_EQ(info.vlan, 7U);
  EXPECT_EQ(info.qos, 3U);
  EXPECT_EQ(ntohs(info.vlan_proto), ETH_P_8021AD);
}

TEST(VfChange, has_no_message_for_p_keys) {
  VfSettings values;
  values.partitions = PartitionSlots{0U};
  EXPECT_FALSE(changeOf(0, Field::kPartitions, values));
}

/// The kernel's answer to a look at a PF, put together as rtnl_fill_vfinfo does it.
class Answer {
 public:
  explicit Answer(unsigned short hardware) : message_(nlmsg_alloc_simple(RTM_NEWLINK, 0)) {
    nlmsg_set_proto(message_.get(), NETLINK_ROUTE);  // as a message that came from a socket has it
    ifinfomsg header{};
    header.ifi_index = 9;
    header.ifi_type = hardware;
    nlmsg_append(message_.get(), &header, sizeof header, NLMSG_ALIGNTO);
    nla_put_string(message_.get(), IFLA_IFNAME, "ib0");
  }
  void begin(unsigned vfs) {
    nla_put_u32(message_.get(), IFLA_NUM_VF, vfs);
    list_ = nla_nest_start(message_.get(), IFLA_VFINFO_LIST);
  }
  void end() { nla_nest_end(message_.get(), list_); }

  struct Vf {
    unsigned index = 0;
    const char* mac = "\x52\x54\x00\x77\x00\x01";
    unsigned vlan = 0, qos = 0, proto = ETH_P_8021Q;
    unsigned spoof = ~0U, trust = ~0U, link = IFLA_VF_LINK_STATE_AUTO;
    unsigned least = 0, most = 0;
    std::optional<std::uint64_t> node{}, port{};
  };
  void vf(const Vf& vf) {
    nlattr* info = nla_nest_start(message_.get(), IFLA_VF_INFO);
    ifla_vf_mac mac{vf.index, {}};
    std::memcpy(mac.mac, vf.mac, 6);
    put(IFLA_VF_MAC, mac);
    put(IFLA_VF_VLAN, ifla_vf_vlan{vf.index, vf.vlan, vf.qos});
    put(IFLA_VF_RATE, ifla_vf_rate{vf.index, vf.least, vf.most});
    put(IFLA_VF_TX_RATE, ifla_vf_tx_rate{vf.index, vf.most});
    put(IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{vf.index, vf.spoof});
    put(IFLA_VF_LINK_STATE, ifla_vf_link_state{vf.index, vf.link});
    put(IFLA_VF_RSS_QUERY_EN, ifla_vf_rss_query_en{vf.index, ~0U});
    put(IFLA_VF_TRUST, ifla_vf_trust{vf.index, vf.trust});
    if (vf.node) put(IFLA_VF_IB_NODE_GUID, ifla_vf_guid{vf.index, *vf.node});
    if (vf.port) put(IFLA_VF_IB_PORT_GUID, ifla_vf_guid{vf.index, *vf.port});
    nlattr* vlans = nla_nest_start(message_.get(), IFLA_VF_VLAN_LIST);
    put(IFLA_VF_VLAN_INFO,
        ifla_vf_vlan_info{vf.index, vf.vlan, vf.qos, htons(static_cast<std::uint16_t>(vf.proto))});
    nla_nest_end(message_.get(), vlans);
    nla_nest_end(message_.get(), info);
  }
  nl_msg* message() { return message_.get(); }

 private:
  template <class Struct>
  void put(int type, const Struct& value) {
    nla_put(message_.get(), type, sizeof value, &value);
  }

  NetlinkOwned<nl_msg> message_;
  nlattr* list_ = nullptr;
};

TEST(VfList, of_an_ethernet_pf_is_read) {
  Answer answer(ARPHRD_ETHER);
  answer.begin(2);
  answer.vf({.index = 0,
             .vlan = 7,
             .qos = 3,
             .proto = ETH_P_8021AD,
             .spoof = 1,
             .trust = 0,
             .link = IFLA_VF_LINK_STATE_DISABLE,
             .least = 10,
             .most = 2500});
  answer.vf({.index = 1, .mac = "\0\0\0\0\0\0"});
  answer.end();
  const auto vfs = vfsOf(answer.message());
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  ASSERT_EQ(vfs->size(), 2U);
  const VfSettings& first = vfs->at(0);
  EXPECT_EQ(first.mac, MacAddress::parse("52:54:00:77:00:01"));
  EXPECT_EQ(first.vlan, (VlanTag{7, 3, VlanProtocol::k8021ad}));
  EXPECT_EQ(first.trust, false);
  EXPECT_EQ(first.spoof_check, true);
  EXPECT_EQ(first.rates, (Rates{10, 2500}));
  EXPECT_EQ(first.link, LinkPolicy::kDisable);
  EXPECT_FALSE(first.node_guid || first.port_guid);
  const VfSettings& second = vfs->at(1);
  EXPECT_EQ(second.mac, MacAddress{});
  EXPECT_EQ(second.vlan, VlanTag{});
  EXPECT_FALSE(second.trust) << "-1 is a driver that does not tell";
  EXPECT_FALSE(second.spoof_check);
  EXPECT_EQ(second.rates, Rates{});
  EXPECT_EQ(second.link, LinkPolicy::kAuto);
}

TEST(VfList, of_an_infiniband_pf_has_guids_where_the_kernel_tells_them) {
  Answer answer(ARPHRD_INFINIBAND);
  answer.begin(2);
  answer.vf({.index = 0, .link = IFLA_VF_LINK_STATE_ENABLE, .node = 0x0002c903000a1b2c, .port = 0});
  answer.vf({.index = 1});
  answer.end();
  const auto vfs = vfsOf(answer.message());
  ASSERT_TRUE(vfs) << vfs.error().sentence();
  ASSERT_EQ(vfs->size(), 2U);
  EXPECT_EQ(vfs->at(0).node_guid, Guid(0x0002c903000a1b2c));
  EXPECT_EQ(vfs->at(0).port_guid, Guid());
  EXPECT_EQ(vfs->at(0).link, LinkPolicy::kEnable);
  EXPECT_FALSE(vfs->at(0).mac) << "the first 6 bytes of an IPoIB address are no MAC";
  EXPECT_FALSE(vfs->at(0).vlan);
  EXPECT_FALSE(vfs->at(1).node_guid || vfs->at(1).port_guid) << "a kernel before 5.5";
}

TEST(VfList, may_be_empty_or_absent) {
  Answer none(ARPHRD_ETHER);
  EXPECT_TRUE(vfsOf(none.message())->empty());
  Answer empty(ARPHRD_ETHER);
  empty.begin(0);
  empty.end();
  EXPECT_TRUE(vfsOf(empty.message())->empty());
}

TEST(NetlinkVfPort, says_that_an_interface_has_no_vfs) {
  const auto port = makeNetlinkVfPort();
  PfPlace lo{"", "lo", "", "", LinkLayer::kEthernet, 0};
  EXPECT_TRUE(port->readAll(lo)->empty());
  EXPECT_EQ(port->read({lo, 0, ""}).error().code, ErrorCode::kNotFound);
  lo.netdev = "no-such-if0";
  const auto missing = port->read({lo, 0, ""});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound) << missing.error().sentence();
  VfSettings values;
  values.link = LinkPolicy::kAuto;
  EXPECT_EQ(port->write({lo, 0, ""}, Field::kLink, values).error().code, ErrorCode::kNotFound);
  lo.netdev = "";
  EXPECT_THAT(port->readAll(lo).error().sentence(), testing::HasSubstr("no network interface"));
}

TEST(NetlinkVfPort, hears_the_kernel_refuse) {
  const auto port = makeNetlinkVfPort();
  VfSettings values;
  values.trust = true;
  const auto set = port->write({{"", "lo", "", "", LinkLayer::kEthernet, 0}, 0, ""}, Field::kTrust, values);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().sentence(), testing::HasSubstr("trust on on VF 0 of lo: netlink: "));
}

}  // namespace
}  // namespace rdmove::fabric
