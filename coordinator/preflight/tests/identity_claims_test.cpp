#include "coordinator/preflight/identity_claims.hpp"

#include <gmock/gmock.h>

#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::_;
using testing::NiceMock;
using testing::Return;

std::optional<std::string> element(const std::string& identity) {
  return "<rdma><vf alias='ua-ib0' pool='ib' model='virtual-switch'><identity " + identity + "/></vf></rdma>";
}

DomainStatus domain(const std::string& name, DomainState state) {
  DomainStatus status;
  status.name = name;
  status.uuid = DomainUuid("uuid-of-" + name);
  status.state = state;
  return status;
}

class IdentityClaims : public testing::Test {
 protected:
  IdentityClaims() {
    ON_CALL(hypervisor, list)
        .WillByDefault(Return(std::vector<DomainStatus>{domain("vm1", DomainState::kRunning),
                                                        domain("vm2", DomainState::kShutOff),
                                                        domain("vm3", DomainState::kRunning)}));
    ON_CALL(hypervisor, metadata(DomainUuid("uuid-of-vm1"), XmlKind::kLive))
        .WillByDefault(Return(element("port-guid='00:02:c9:03:00:77:00:01' mac='52:54:00:77:00:01'")));
    ON_CALL(hypervisor, metadata(DomainUuid("uuid-of-vm2"), XmlKind::kInactive))
        .WillByDefault(Return(element("port-guid='00:02:c9:03:00:77:00:02' "
                                      "node-guid='00:02:c9:03:00:77:00:00'")));
    ON_CALL(hypervisor, metadata(DomainUuid("uuid-of-vm3"), _))
        .WillByDefault(Return(std::optional<std::string>("<rdma><vf/></rdma>")));
  }
  std::optional<std::string> twice(const Identity& identity, const char* of = "uuid-of-vm9") {
    const auto claims = identityClaims(hypervisor);
    return claims ? claimedTwice(identity, DomainUuid(of), *claims) : claims.error().sentence();
  }
  NiceMock<FakeHypervisor> hypervisor;
};

TEST_F(IdentityClaims, of_running_and_of_shut_off_domains_count) {
  Identity identity;
  EXPECT_EQ(twice(identity), std::nullopt) << "two absent addresses are not the same one";
  identity.port_guid = Guid(0x0002c90300770002);
  EXPECT_EQ(twice(identity), "port GUID 00:02:c9:03:00:77:00:02 is declared by vm2, too");
  identity.port_guid = Guid(0x0002c90300770001);
  EXPECT_EQ(twice(identity), "port GUID 00:02:c9:03:00:77:00:01 is declared by vm1, too");
  identity.port_guid = Guid(0x0002c90300770003);
  EXPECT_EQ(twice(identity), std::nullopt);
  identity.node_guid = Guid(0x0002c90300770000);
  EXPECT_EQ(twice(identity), "node GUID 00:02:c9:03:00:77:00:00 is declared by vm2, too");
  identity = Identity{};
  identity.mac = MacAddress::parse("52:54:00:77:00:01");
  EXPECT_EQ(twice(identity), "MAC 52:54:00:77:00:01 is declared by vm1, too");
}

TEST_F(IdentityClaims, of_the_domain_itself_do_not) {
  Identity identity;
  identity.port_guid = Guid(0x0002c90300770001);
  EXPECT_EQ(twice(identity, "uuid-of-vm1"), std::nullopt);
}

TEST_F(IdentityClaims, that_libvirt_cannot_tell_are_an_error) {
  ON_CALL(hypervisor, list).WillByDefault(Return(failure(ErrorCode::kUnavailable, "list", "no libvirt")));
  EXPECT_FALSE(identityClaims(hypervisor));
}

}  // namespace
}  // namespace rdmove
