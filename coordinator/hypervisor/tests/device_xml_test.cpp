#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/tests/sample_domains.hpp"

namespace rdmove {
namespace {

using samples::kBridgeNic;
using samples::kHostdevNic;
using samples::kPlainHostdev;
using testing::HasSubstr;
using testing::Not;

TEST(PortableDevice, keeps_what_the_guest_sees_and_drops_the_host) {
  const auto portable = portableDevice(kBridgeNic);
  ASSERT_TRUE(portable) << portable.error().sentence();
  for (const char* kept :
       {"ua-rdma0", "52:54:00:77:00:01", "e1000e", "bus=\"0x02\"", "<rom enabled=\"no\""}) {
    EXPECT_THAT(*portable, HasSubstr(kept));
  }
  for (const char* gone : {"vnet3", "br0", "<target", "<source"})
    EXPECT_THAT(*portable, Not(HasSubstr(gone)));
}

TEST(PortableDevice, keeps_virtio_features_but_not_the_backend) {
  const auto portable = portableDevice(
      "<interface type='bridge'><alias name='ua-n'/><model type='virtio'/><mtu size='9000'/>"
      "<driver name='vhost' queues='4' rx_queue_size='512'><host csum='off'/><guest tso4='off'/></driver>"
      "<backend tap='/dev/net/tun'/></interface>");
  ASSERT_TRUE(portable) << portable.error().sentence();
  for (const char* kept :
       {"queues=\"4\"", "rx_queue_size", "<host csum", "<guest tso4", "mtu size=\"9000\""}) {
    EXPECT_THAT(*portable, HasSubstr(kept));
  }
  EXPECT_THAT(*portable, Not(HasSubstr("vhost")));
  EXPECT_THAT(*portable, Not(HasSubstr("backend")));
}

TEST(PortableDevice, drops_source_driver_vlan_and_managed_of_a_vf) {
  for (const std::string& element : {kHostdevNic, kPlainHostdev}) {
    const auto portable = portableDevice(element);
    ASSERT_TRUE(portable) << portable.error().sentence();
    for (const char* gone : {"0x3b", "0xaf", "vfio", "vlan", "managed", "<driver"}) {
      EXPECT_THAT(*portable, Not(HasSubstr(gone)));
    }
  }
}

TEST(PortableDevice, is_idempotent) {
  const auto once = portableDevice(kHostdevNic);
  ASSERT_TRUE(once);
  EXPECT_EQ(portableDevice(*once).value(), *once);
}

TEST(PortableDevice, refuses_a_device_without_alias_or_with_a_bad_mac) {
  EXPECT_EQ(portableDevice("<interface type='bridge'/>").error().code, ErrorCode::kBadInput);
  const auto mac = portableDevice("<interface><alias name='ua-a'/><mac address='52:54'/></interface>");
  EXPECT_THAT(mac.error().sentence(), HasSubstr("attribute 'address' is '52:54'"));
  const auto slot = portableDevice(
      "<interface><alias name='ua-a'/><address type='pci' bus='0x00' slot='0x99' "
      "function='0x0'/></interface>");
  EXPECT_THAT(slot.error().sentence(), HasSubstr("attribute 'slot' of its PCI address is '0x99'"));
}

TEST(BindToBridge, writes_the_bridge) {
  const auto bound = bindToBridge(portableDevice(kBridgeNic).value(), "fabric1");
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_THAT(*bound, HasSubstr("<source bridge=\"fabric1\""));
  EXPECT_TRUE(sameForGuest(*bound, kBridgeNic));
}

TEST(BindToBridge, refuses_a_plain_hostdev_and_odd_names) {
  EXPECT_EQ(bindToBridge(kPlainHostdev, "br0").error().code, ErrorCode::kBadInput);
  for (const char* name : {"", "a/b", "sixteen-chars-xx"})
    EXPECT_FALSE(bindToBridge(kBridgeNic, name)) << name;
}

TEST(BindToVf, writes_source_managed_and_vlan_of_an_interface) {
  const auto bound = bindToVf(portableDevice(kHostdevNic).value(), "0000:5e:01.3", 7);
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_THAT(*bound, HasSubstr("<interface type=\"hostdev\" managed=\"no\">"));
  EXPECT_THAT(
      *bound,
      HasSubstr("<address type=\"pci\" domain=\"0x0000\" bus=\"0x5e\" slot=\"0x01\" function=\"0x3\""));
  EXPECT_THAT(*bound, HasSubstr("<tag id=\"7\""));
  EXPECT_TRUE(sameForGuest(*bound, kHostdevNic));
}

TEST(BindToVf, leaves_the_vlan_of_a_plain_hostdev_to_the_fabric) {
  const auto bound = bindToVf(portableDevice(kPlainHostdev).value(), "0000:5e:01.3", 7);
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_THAT(*bound, HasSubstr("<address domain=\"0x0000\" bus=\"0x5e\" slot=\"0x01\" function=\"0x3\""));
  EXPECT_THAT(*bound, HasSubstr("managed=\"no\""));
  EXPECT_THAT(*bound, Not(HasSubstr("vlan")));
  EXPECT_TRUE(sameForGuest(*bound, kPlainHostdev));
}

TEST(BindToVf, refuses_bad_addresses_and_vlans) {
  for (const char* address :
       {"", "3b:00.2", "0000:3b:20.0", "0000:3b:00.8", "0000:3b:00.2 ", "zzzz:3b:00.2"}) {
    EXPECT_FALSE(bindToVf(kHostdevNic, address, std::nullopt)) << address;
  }
  EXPECT_FALSE(bindToVf(kHostdevNic, "0000:3b:00.2", 0));
  EXPECT_FALSE(bindToVf(kHostdevNic, "0000:3b:00.2", 4095));
}

TEST(SameForGuest, compares_alias_mac_model_and_address) {
  const auto with = [](const char* alias, const char* mac, const char* model, const char* bus) {
    return std::string("<interface type='bridge'><alias name='") + alias + "'/><mac address='" + mac +
           "'/><model type='" + model + "'/><address type='pci' bus='" + bus +
           "' slot='0x00' function='0x0'/></interface>";
  };
  const std::string base = with("ua-a", "52:54:00:00:00:01", "e1000e", "0x02");
  EXPECT_TRUE(sameForGuest(base, with("ua-a", "52:54:00:00:00:01", "e1000e", "2")));
  EXPECT_FALSE(sameForGuest(base, with("ua-b", "52:54:00:00:00:01", "e1000e", "0x02")));
  EXPECT_FALSE(sameForGuest(base, with("ua-a", "52:54:00:00:00:02", "e1000e", "0x02")));
  EXPECT_FALSE(sameForGuest(base, with("ua-a", "52:54:00:00:00:01", "virtio", "0x02")));
  EXPECT_FALSE(sameForGuest(base, with("ua-a", "52:54:00:00:00:01", "e1000e", "0x03")));
  EXPECT_FALSE(sameForGuest(base, "not xml"));
}

TEST(SameOnHost, compares_the_vf_or_the_bridge) {
  const auto vf = [](const char* bus, const char* slot) {
    return std::string("<hostdev mode='subsystem' type='pci'><source><address domain='0x0000' bus='") + bus + "' slot='" +
           slot + "' function='0x0'/></source></hostdev>";
  };
  const std::string bridge = "<interface type='bridge'><source bridge='fabric'/></interface>";
  EXPECT_TRUE(sameOnHost(vf("0x3b", "0x01"), vf("0x3b", "0x1")));
  EXPECT_FALSE(sameOnHost(vf("0x3b", "0x01"), vf("0x3b", "0x02")));
  EXPECT_FALSE(sameOnHost(vf("0x3b", "0x01"), bridge));
  EXPECT_TRUE(sameOnHost(bridge, "<interface type='bridge'><source bridge='fabric' portid='1'/></interface>"));
  EXPECT_FALSE(sameOnHost(bridge, "<interface type='bridge'><source bridge='lan'/></interface>"));
  EXPECT_FALSE(sameOnHost(bridge, "not xml"));
}

TEST(NewDevice, is_what_can_be_attached_where_nothing_can_be_copied) {
  VfDeclaration vf;
  vf.alias = DeviceAlias("ua-rdma0");
  vf.identity.mac = MacAddress::parse("52:54:00:77:00:01");
  const auto nic = newDevice(vf, false);
  ASSERT_TRUE(nic) << nic.error().sentence();
  for (const auto& bound : {bindToBridge(*nic, "br0"), bindToVf(*nic, "0000:3b:00.2", std::nullopt)}) {
    ASSERT_TRUE(bound) << bound.error().sentence();
    for (const char* part : {"<interface", "ua-rdma0", "52:54:00:77:00:01"}) EXPECT_THAT(*bound, HasSubstr(part));
  }
  vf.identity.mac.reset();
  EXPECT_EQ(newDevice(vf, false).error().code, ErrorCode::kBadInput);
  const auto infiniband = newDevice(vf, true);
  ASSERT_TRUE(infiniband) << infiniband.error().sentence();
  const auto bound = bindToVf(*infiniband, "0000:af:00.1", std::nullopt);
  ASSERT_TRUE(bound) << bound.error().sentence();
  EXPECT_THAT(*bound, HasSubstr("<hostdev"));
  EXPECT_THAT(*bound, HasSubstr("bus=\"0xaf\""));
}

}  // namespace
}  // namespace rdmove
