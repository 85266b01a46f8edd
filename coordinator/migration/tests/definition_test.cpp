// The definition of a VM that has its devices on this host names them.
#include "coordinator/migration/definition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::_;
using testing::HasSubstr;
using testing::NiceMock;
using testing::Return;

const DomainUuid kUuid("52540077-0000-4000-8000-000000000001");

std::string hostdev(const std::string& slot) {
  return "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0x3b' slot='" + slot +
         "' function='0x0'/></source><alias name='ua-rdma0'/></hostdev>";
}

std::string defined(const std::string& devices) {
  return "<domain type='kvm'><name>vm1</name><devices>" + devices + "</devices></domain>";
}

const std::vector<LeasedVf> kHas = {
    {DeviceAlias("ua-rdma0"), PoolName("fabric"), VfName("0000:3b:01.0"), hostdev("0x01")}};

TEST(Definition, that_was_made_on_another_host_names_the_vf_of_this_one) {
  NiceMock<FakeHypervisor> hypervisor;
  ON_CALL(hypervisor, xml(_, XmlKind::kInactive)).WillByDefault(Return(defined(hostdev("0x07"))));
  EXPECT_CALL(hypervisor, define(testing::AllOf(HasSubstr("0x01"), testing::Not(HasSubstr("0x07")))))
      .WillOnce(Return(Result<void>()));
  EXPECT_TRUE(correctDefinition(hypervisor, kUuid, kHas));
}

TEST(Definition, that_is_right_is_not_written_again) {
  NiceMock<FakeHypervisor> hypervisor;
  ON_CALL(hypervisor, xml(_, XmlKind::kInactive)).WillByDefault(Return(defined(hostdev("0x01"))));
  EXPECT_CALL(hypervisor, define(_)).Times(0);
  EXPECT_TRUE(correctDefinition(hypervisor, kUuid, kHas));
}

TEST(Definition, that_cannot_be_read_is_not_written) {
  NiceMock<FakeHypervisor> hypervisor;
  ON_CALL(hypervisor, xml(_, XmlKind::kInactive))
      .WillByDefault(Return(failure(ErrorCode::kUnavailable, "read it", "libvirtd does not answer")));
  EXPECT_CALL(hypervisor, define(_)).Times(0);
  EXPECT_FALSE(correctDefinition(hypervisor, kUuid, kHas));
}

}  // namespace
}  // namespace rdmove
