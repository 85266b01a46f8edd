// The transaction over a real kernel's rtnetlink: VFs whose GUIDs and link state it sets and tells. There is
// such an interface in a guest of the lab (module labib with num_vfs=N); RDMOVE_TEST_PF names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "coordinator/fabric/identity/vf_identity.hpp"

namespace rdmove::fabric {
namespace {

using testing::HasSubstr;

class KernelVfs : public testing::Test {
 protected:
  void SetUp() override {
    const char* pf = std::getenv("RDMOVE_TEST_PF");
    if (pf == nullptr) GTEST_SKIP() << "RDMOVE_TEST_PF names no interface with InfiniBand VFs";
    at.pf.netdev = pf;
    at.pf.layer = LinkLayer::kInfiniBand;
    at.pci = std::string("VF 0 of ") + pf;
    wanted.node_guid = Guid(0x0002c903000a1b2c);
    wanted.port_guid = Guid(0x0002c903000a1b2d);
  }

  std::unique_ptr<SysfsFiles> files = makeSysfsFiles();
  std::unique_ptr<VfPort> port = makeVfPorts(*files, makeNetlinkVfPort());
  VfIdentity identity{*files, *port};
  VfPlace at;
  Identity wanted;
};

TEST_F(KernelVfs, get_an_identity_and_give_it_back) {
  const auto before = port->read(at);
  ASSERT_TRUE(before) << before.error().sentence();
  const auto memory = identity.plan(at, wanted, std::nullopt);
  ASSERT_TRUE(memory) << memory.error().sentence();
  ASSERT_TRUE(identity.stage(at, wanted, *memory));
  EXPECT_EQ(port->read(at)->port_guid, wanted.port_guid);
  EXPECT_EQ(port->read(at)->link, LinkPolicy::kDisable);
  const auto given = identity.give(at, wanted, *memory, Owner::kAllOurs);
  ASSERT_TRUE(given) << given.error().sentence();
  EXPECT_EQ(port->read(at)->node_guid, wanted.node_guid);
  EXPECT_NE(port->read(at)->link, LinkPolicy::kDisable);
  const auto taken = identity.take(at, wanted, *memory);
  ASSERT_TRUE(taken) << taken.error().sentence();
  EXPECT_EQ(port->read(at)->node_guid, before->node_guid);
  EXPECT_EQ(port->read(at)->port_guid, before->port_guid);
  EXPECT_EQ(port->read(at)->link, before->link);
}

TEST_F(KernelVfs, refuse_what_is_not_theirs) {
  VfSettings mac;
  mac.mac = MacAddress::parse("52:54:00:77:00:01");
  EXPECT_FALSE(port->write(at, Field::kMac, mac)) << "the kernel takes no 6-byte MAC for IPoIB";
  at.index = 4000;
  EXPECT_EQ(port->read(at).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(identity.plan(at, wanted, std::nullopt).error().sentence(), HasSubstr("no such VF"));
  VfSettings guid;
  guid.port_guid = wanted.port_guid;
  const auto set = port->write(at, Field::kPortGuid, guid);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kRefused) << set.error().sentence();
}

}  // namespace
}  // namespace rdmove::fabric
