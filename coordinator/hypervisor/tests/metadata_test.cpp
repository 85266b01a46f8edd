#include "coordinator/hypervisor/metadata.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove {
namespace {

using testing::HasSubstr;

DomainDeclaration full() {
  VfDeclaration roce{DeviceAlias("ua-rdma0"), PoolName("a&b <\"c'>"), Model::kRoce, Continuity::kCarry, {}};
  roce.identity.mac = MacAddress::parse("52:54:00:77:00:01");
  roce.identity.vlan = 4094;
  roce.identity.vlan_priority = 0;
  roce.identity.vlan_protocol = VlanProtocol::k8021ad;
  roce.identity.trust = true;
  roce.identity.spoof_check = false;
  roce.identity.min_rate = 0;
  roce.identity.max_rate = 25000;
  VfDeclaration ib{DeviceAlias("ua-ib0"), PoolName("ib"), Model::kSharedPort, Continuity::kPark, {}};
  ib.identity.node_guid = Guid(0x0011223344556677);
  ib.identity.port_guid = Guid(0x0011223344556678);
  ib.identity.pkeys = {PartitionKey(0xffff), PartitionKey(0x0001)};
  ib.identity.link = LinkPolicy::kEnable;
  return {{roce, ib}, DeviceAlias("ua-net0")};
}

std::string vf(const std::string& attributes, const std::string& children = "") {
  return "<rdma><vf " + attributes + ">" + children + "</vf></rdma>";
}

const std::string kGood = "alias='ua-a' pool='p' model='roce'";

TEST(Metadata, survives_format_and_parse) {
  const auto read = parseDeclaration(formatDeclaration(full()));
  ASSERT_TRUE(read) << read.error().sentence();
  EXPECT_EQ(read->vfs, full().vfs);
  EXPECT_EQ(read->standby, full().standby);
}

TEST(Metadata, reads_the_element_with_a_prefix_and_namespace) {
  const auto read = parseDeclaration(
      "<r:rdma xmlns:r='urn:rdmove:domain:1'>\n <r:vf alias='ua-a' pool='p' model='roce'/>\n"
      " <r:prepared epoch='3'/><!-- note --></r:rdma>");
  ASSERT_TRUE(read) << read.error().sentence();
  ASSERT_EQ(read->vfs.size(), 1U);
  EXPECT_EQ(read->vfs[0].continuity, Continuity::kReconnect);
}

TEST(Metadata, normalises_guids_and_macs) {
  const auto read =
      parseDeclaration(vf(kGood, "<identity mac='52:54:00:AA:BB:CC' node-guid='AA:11:22:33:44:55:66:77'/>"));
  ASSERT_TRUE(read) << read.error().sentence();
  EXPECT_EQ(read->vfs[0].identity.node_guid->str(), "aa:11:22:33:44:55:66:77");
  EXPECT_EQ(read->vfs[0].identity.mac->str(), "52:54:00:aa:bb:cc");
}

struct BadCase {
  std::string element;
  std::string named;
  friend std::ostream& operator<<(std::ostream& out, const BadCase& self) { return out << self.named; }
};

class BadMetadata : public testing::TestWithParam<BadCase> {};

TEST_P(BadMetadata, is_refused_and_the_attribute_named) {
  const auto read = parseDeclaration(GetParam().element);
  ASSERT_FALSE(read) << GetParam().element;
  EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(read.error().sentence(), HasSubstr(GetParam().named));
}

const std::string kOther = "<vf alias='ua-b' pool='p' model='roce'>";

INSTANTIATE_TEST_SUITE_P(
    Each, BadMetadata,
    testing::Values(
        BadCase{"", "not XML"}, BadCase{"<other/>", "<other>"},
        BadCase{vf("pool='p' model='roce'"), "'alias'"},
        BadCase{vf("alias='ua-' pool='p' model='roce'"), "'alias'"},
        BadCase{vf("alias='net0' pool='p' model='roce'"), "'alias' of <vf> is 'net0'"},
        BadCase{vf("alias='ua-a b' pool='p' model='roce'"), "'alias'"},
        BadCase{vf("alias='ua-a' model='roce'"), "'pool'"},
        BadCase{vf("alias='ua-a' pool='a&#10;b' model='roce'"), "'pool'"},
        BadCase{vf("alias='ua-a' pool='p'"), "'model'"},
        BadCase{vf("alias='ua-a' pool='p' model='RoCE'"), "'model' of <vf> is 'RoCE'"},
        BadCase{vf(kGood + " continuity='magic'"), "'continuity' of <vf> is 'magic'"},
        BadCase{vf(kGood + " Continuity='park'"), "spelt 'continuity'"},
        BadCase{vf(kGood + " pool='q'"), "'pool' of <vf> is there twice"},
        BadCase{vf(kGood, "<identity mac='x'/>"), "'mac' of <identity> is 'x'"},
        BadCase{vf(kGood, "<identity mac='01:00:5e:00:00:01'/>"), "'mac'"},
        BadCase{vf(kGood, "<identity mac='00:00:00:00:00:00'/>"), "'mac'"},
        BadCase{vf(kGood, "<identity vlan='0'/>"), "'vlan'"},
        BadCase{vf(kGood, "<identity vlan='4095'/>"), "'vlan'"},
        BadCase{vf(kGood, "<identity vlan='1x'/>"), "'vlan'"},
        BadCase{vf(kGood, "<identity vlan=''/>"), "'vlan'"},
        BadCase{vf(kGood, "<identity node-guid='1'/>"), "'node-guid'"},
        BadCase{vf(kGood, "<identity port-guid='00:00:00:00:00:00:00:00'/>"), "'port-guid'"},
        BadCase{vf(kGood, "<identity nodeGuid='1'/>"), "spelt 'node-guid'"},
        BadCase{vf(kGood, "<identity port-guid='ff:ff:ff:ff:ff:ff:ff:ff'/>"),
                "'port-guid' of <identity>: 'ff"},
        BadCase{vf(kGood, "<identity port-guid='01:02:c9:03:00:0a:1b:2c'/>"), "group bit"},
        BadCase{vf(kGood, "<identity gids='fe80::1'/>"), "'gids' of <identity> is not known"},
        BadCase{vf(kGood, "<identity pkeys='0xffff 8001'/>"), "'pkeys' of <identity>: '8001' is no P_Key"},
        BadCase{vf(kGood, "<identity pkeys='0x8000'/>"), "partition 0"},
        BadCase{vf(kGood, "<identity vlan='5' vlan-priority='8'/>"), "'vlan-priority' of <identity> is '8'"},
        BadCase{vf(kGood, "<identity vlan-priority='1'/>"), "no attribute 'vlan'"},
        BadCase{vf(kGood, "<identity vlan='5' vlan-protocol='q'/>"), "not 802.1Q or 802.1ad"},
        BadCase{vf(kGood, "<identity trust='yes'/>"), "'trust' of <identity> is 'yes', not on or off"},
        BadCase{vf(kGood, "<identity spoofCheck='on'/>"), "spelt 'spoof-check'"},
        BadCase{vf(kGood, "<identity link='up'/>"), "not auto, enable or disable"},
        BadCase{vf(kGood, "<identity max-rate='-1'/>"), "'max-rate'"},
        BadCase{"<rdma><vf alias='ua-a' pool='p' model='virtual-switch'><identity node-guid='0011223344556677'/>"
                "</vf><vf alias='ua-b' pool='p' model='virtual-switch'><identity node-guid='0011223344556677'/>"
                "</vf></rdma>",
                "two <vf> have node-guid"},
        BadCase{vf(kGood, "<identity/><identity/>"), "two <identity>"},
        BadCase{"<rdma><vf " + kGood + "/><vf " + kGood + "/></rdma>", "two <vf> have alias 'ua-a'"},
        BadCase{"<rdma><vf " + kGood + "><identity mac='52:54:00:00:00:01'/></vf>" + kOther +
                    "<identity mac='52:54:00:00:00:01'/></vf></rdma>",
                "two <vf> have mac"},
        BadCase{"<rdma><standby alias='ua-a'/><standby alias='ua-b'/></rdma>", "two <standby>"},
        BadCase{"<rdma><standby/></rdma>", "<standby> needs attribute 'alias'"},
        BadCase{"<rdma><vf " + kGood + "/><standby alias='ua-a'/></rdma>", "<standby> names 'ua-a'"}));

TEST(Metadata, reads_guids_in_every_spelling) {
  for (const char* spelling : {"0x0002c903000A1B2C", "0002c903000a1b2c", "0002:c903:000a:1b2c"}) {
    const auto read = parseDeclaration(vf(kGood, fmt::format("<identity port-guid='{}'/>", spelling)));
    ASSERT_TRUE(read) << read.error().sentence();
    EXPECT_EQ(read->vfs[0].identity.port_guid, Guid(0x0002c903000a1b2c));
  }
}

TEST(Metadata, ignores_unknown_attributes_and_elements_outside_the_identity) {
  EXPECT_TRUE(parseDeclaration("<rdma later='1'><vf " + kGood + " colour='red'><hint/></vf><else/></rdma>"));
}

TEST(Metadata, takes_sixteen_vfs_and_no_more) {
  std::string vfs;
  for (int i = 0; i < 16; ++i) vfs += fmt::format("<vf alias='ua-{}' pool='p' model='roce'/>", i);
  EXPECT_TRUE(parseDeclaration("<rdma>" + vfs + "</rdma>"));
  EXPECT_THAT(
      parseDeclaration("<rdma>" + vfs + "<vf alias='ua-x' pool='p' model='roce'/></rdma>").error().cause,
      HasSubstr("more than 16"));
}

}  // namespace
}  // namespace rdmove
