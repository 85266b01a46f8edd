#include "coordinator/preflight/occupancy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::_;
using testing::NiceMock;
using testing::Return;

const VfName kVf("0000:01:10.0");
constexpr const char* kXml =
    "<domain type='kvm'><devices><hostdev mode='subsystem' type='pci' managed='no'><source>"
    "<address domain='0x0000' bus='0x01' slot='0x10' function='0x0'/></source><alias "
    "name='ua-rdma0'/></hostdev>"
    "</devices></domain>";

class OneVf : public NiceMock<FakeFabric> {
 public:
  Result<std::vector<VfName>> occupied(const std::string&) override { return std::vector{kVf}; }
};

DomainStatus domain(const std::string& name, const std::string& uuid, DomainState state) {
  DomainStatus status;
  status.name = name;
  status.uuid = DomainUuid(uuid);
  status.state = state;
  status.persistent = true;
  return status;
}

TEST(Occupants, a_domain_that_runs_comes_before_one_that_only_names_the_vf_in_any_order) {
  const auto runs = domain("vm1", "52540077-0000-4000-8000-000000000001", DomainState::kRunning);
  const auto names = domain("bystander", "52540077-0000-4000-8000-000000000009", DomainState::kShutOff);
  OneVf fabric;
  for (const auto& listed : {std::vector{runs, names}, std::vector{names, runs}}) {
    NiceMock<FakeHypervisor> hypervisor;
    ON_CALL(hypervisor, list).WillByDefault(Return(listed));
    ON_CALL(hypervisor, xml(_, _)).WillByDefault(Return(std::string(kXml)));
    const auto found = occupants(hypervisor, fabric);
    ASSERT_TRUE(found) << found.error().sentence();
    EXPECT_EQ(found->at(kVf).domain, "vm1");
    EXPECT_TRUE(found->at(kVf).live);
  }
}

// A VF that nobody seems to have loses its identity, or goes to the next VM.
TEST(Occupants, a_libvirtd_that_goes_away_over_the_question_frees_no_vf) {
  const auto runs = domain("vm1", "52540077-0000-4000-8000-000000000001", DomainState::kRunning);
  OneVf fabric;
  for (const XmlKind silent : {XmlKind::kInactive, XmlKind::kLive}) {
    NiceMock<FakeHypervisor> hypervisor;
    ON_CALL(hypervisor, list).WillByDefault(Return(std::vector{runs}));
    ON_CALL(hypervisor, xml(_, _)).WillByDefault(Return(std::string(kXml)));
    ON_CALL(hypervisor, xml(_, silent))
        .WillByDefault(Return(failure(ErrorCode::kUnavailable, "read the XML", "libvirtd does not answer")));
    const auto found = occupants(hypervisor, fabric);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
  }
}

TEST(Occupants, a_domain_that_went_away_over_the_question_has_none) {
  const auto ended = domain("vm1", "52540077-0000-4000-8000-000000000001", DomainState::kRunning);
  OneVf fabric;
  NiceMock<FakeHypervisor> hypervisor;
  ON_CALL(hypervisor, list).WillByDefault(Return(std::vector{ended}));
  ON_CALL(hypervisor, xml(_, _))
      .WillByDefault(Return(failure(ErrorCode::kNotFound, "read the XML", "there is no such domain")));
  const auto found = occupants(hypervisor, fabric);
  ASSERT_TRUE(found) << found.error().sentence();
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace rdmove
