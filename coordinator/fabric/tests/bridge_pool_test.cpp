#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/service/config.hpp"

namespace rdmove {
namespace {

using testing::HasSubstr;

Config bridges() {
  return parseConfig(R"toml(
[daemon]
host = "hosta"
[pools.fabric]
kind = "bridge"
bridge = "br0"
slots = 2
[pools.other]
kind = "bridge"
bridge = "br1"
slots = 1
)toml",
                     "test")
      .value();
}

constexpr const char* kNic = R"xml(<interface type='bridge'>
  <mac address='52:54:00:77:00:01'/><source bridge='br0'/><target dev='vnet3'/><model type='virtio'/>
  <alias name='ua-rdma0'/><address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/>
</interface>)xml";

MovingVf moving() {
  MovingVf vf;
  vf.declaration.alias = DeviceAlias("ua-rdma0");
  vf.declaration.pool = PoolName("fabric");
  vf.device_xml =
      "<interface type='bridge'><mac address='52:54:00:77:00:01'/><model type='virtio'/>"
      "<alias name='ua-rdma0'/></interface>";
  return vf;
}

std::string domain(const std::string& devices, const std::string& vf_attributes) {
  return "<domain type='kvm'><name>vm1</name><metadata><rdmove:rdma xmlns:rdmove='urn:rdmove:domain:1'>" +
         (vf_attributes.empty() ? "" : "<rdmove:vf " + vf_attributes + "/>") +
         "</rdmove:rdma></metadata><devices>" + devices + "</devices></domain>";
}

class BridgePool : public testing::Test {
 protected:
  std::unique_ptr<Fabric> fabric = makeFabric(bridges(), "/nonexistent");
  const PoolName pool{"fabric"};
};

TEST_F(BridgePool, has_numbered_slots) {
  const auto vfs = fabric->vfs().value();
  ASSERT_EQ(vfs.size(), 3U);
  EXPECT_EQ(vfs[0].name, VfName("br0#0"));
  EXPECT_EQ(vfs[1].name, VfName("br0#1"));
  EXPECT_EQ(vfs[1].kind, "bridge");
  EXPECT_EQ(vfs[1].parent, "br0");
  EXPECT_EQ(vfs[2].pool, PoolName("other"));
  EXPECT_TRUE(fabric->hasPool(pool));
  EXPECT_TRUE(fabric->softRoce(pool));
  EXPECT_FALSE(fabric->hasPool(PoolName("none")));
  EXPECT_FALSE(fabric->softRoce(PoolName("none")));
}

TEST_F(BridgePool, binds_a_slot_and_what_locate_said) {
  for (const char* name : {"br0#1", "br0#52:54:00:77:00:01"}) {
    const auto bound = fabric->bind(VfName(name), moving());
    ASSERT_TRUE(bound) << bound.error().sentence();
    EXPECT_THAT(*bound, HasSubstr("br0"));
    EXPECT_EQ(fabric->locate(pool, *bound).value(), VfName("br0#52:54:00:77:00:01"));
  }
  EXPECT_EQ(fabric->bind(VfName("br1#0"), moving()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fabric->bind(VfName("0000:3b:00.2"), moving()).error().code, ErrorCode::kNotFound);
  MovingVf stranger = moving();
  stranger.declaration.pool = PoolName("none");
  EXPECT_THAT(fabric->bind(VfName("br0#0"), stranger).error().sentence(), HasSubstr("no pool none"));
}

TEST_F(BridgePool, locates_a_nic_by_its_mac_and_says_where_another_is) {
  EXPECT_EQ(fabric->locate(pool, kNic).value(), VfName("br0#52:54:00:77:00:01"));
  const auto elsewhere = fabric->locate(PoolName("other"), kNic);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(elsewhere.error().sentence(), HasSubstr("ua-rdma0 is on bridge br0, the pool is bridge br1"));
  EXPECT_EQ(fabric->locate(pool, "<hostdev/>").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fabric->locate(pool, "<interface").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(fabric->locate(pool, "<interface><source bridge='br0'/></interface>").error().code,
            ErrorCode::kBadInput);
}

TEST_F(BridgePool, leaves_no_identity_behind) {
  EXPECT_TRUE(fabric->takeIdentity(VfName("br0#52:54:00:77:00:01"), {}, std::nullopt));
  EXPECT_TRUE(fabric->takeIdentity(VfName("br0#0"), {}, std::nullopt));
  EXPECT_EQ(fabric->takeIdentity(VfName("br9#0"), {}, std::nullopt).error().code, ErrorCode::kNotFound);
  const auto record = fabric->planIdentity(VfName("br0#0"), moving(), std::nullopt);
  ASSERT_TRUE(record) << record.error().sentence();
  EXPECT_TRUE(record->empty()) << "there is nothing to remember";
  EXPECT_TRUE(fabric->recordOf(VfName("br0#0"), {}).empty());
  EXPECT_TRUE(fabric->stageIdentity(VfName("br0#0"), moving(), *record));
  EXPECT_TRUE(fabric->giveIdentity(VfName("br0#0"), moving(), *record, Attached::kNotYet));
  EXPECT_TRUE(fabric->giveIdentity(VfName("br0#0"), moving(), *record, Attached::kYes));
}

TEST_F(BridgePool, only_declared_nics_occupy_a_slot) {
  const std::string plain =
      "<interface type='bridge'><mac address='52:54:00:77:00:09'/><source bridge='br0'/></interface>";
  const std::string declared = "alias='ua-rdma0' pool='fabric' model='roce' continuity='reconnect'";
  const auto occupied = fabric->occupied(domain(plain + kNic, declared));
  ASSERT_TRUE(occupied) << occupied.error().sentence();
  EXPECT_EQ(*occupied, std::vector{VfName("br0#52:54:00:77:00:01")});
  EXPECT_TRUE(fabric->occupied("<domain><devices>" + plain + kNic + "</devices></domain>")->empty());
  EXPECT_TRUE(
      fabric->occupied(domain(kNic, "alias='ua-rdma0' pool='other' model='roce' continuity='reconnect'"))
          ->empty());
  EXPECT_FALSE(fabric->occupied("no xml <"));
}

}  // namespace
}  // namespace rdmove
