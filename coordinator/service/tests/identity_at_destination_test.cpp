// The identity of a VM that is to come: planned, journaled, staged, and taken off again when the VM does not come
// or is gone.
#include <gtest/gtest.h>

#include <future>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/tests/partner_calls.hpp"

namespace rdmove {
namespace {

// --- The identity ---

v1::PartnerVf infinibandVf() {
  v1::PartnerVf vf = goodVf();
  vf.clear_mac();
  vf.set_port_guid("0x0002c903000a1b2d");
  vf.add_pkeys(0xffff);
  vf.set_trust(true);
  vf.set_max_rate_mbit(100);
  vf.set_device_xml("<hostdev mode='subsystem' type='pci'><alias name='ua-rdma0'/></hostdev>");
  return vf;
}

const IdentityRecord kRecord{R"({"link":"auto"})", R"({"link":"enable"})"};

class IdentityAtTheDestination : public PartnerServiceTest {
 protected:
  IdentityAtTheDestination() {
    *request.mutable_vfs(0) = infinibandVf();
    ON_CALL(hostb_.fabric, bind).WillByDefault([](const VfName&, const MovingVf& vf) {
      return Result<std::string>(vf.device_xml);
    });
    ON_CALL(hostb_.fabric, planIdentity).WillByDefault(testing::Return(kRecord));
  }
  grpc::Status withdraw() {
    v1::WithdrawRequest word;
    word.set_migration(kMigration);
    word.set_source_runs(true);
    v1::WithdrawReply reply;
    return hostb_.call(&v1::Partner::Stub::Withdraw, word, reply);
  }
  void waitForNoLease() {
    for (int i = 0; i < 200 && !hostb_.leases().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  v1::ReserveRequest request = goodReservation();
};

TEST_F(IdentityAtTheDestination, is_journaled_before_it_is_staged) {
  MovingVf told;
  EXPECT_CALL(hostb_.fabric, planIdentity).WillOnce([&](const VfName&, const MovingVf& vf, const auto& kept) {
    told = vf;
    EXPECT_FALSE(kept);
    EXPECT_TRUE(hostb_.vfRecords().empty());
    return Result<IdentityRecord>(kRecord);
  });
  EXPECT_CALL(hostb_.fabric, stageIdentity)
      .WillOnce([&](const VfName& vf, const MovingVf&, const auto& record) {
        const auto kept = hostb_.vfRecords();
        EXPECT_EQ(kept.size(), 1U);
        EXPECT_EQ(kept.at(0).vf, vf);
        EXPECT_EQ(kept.at(0).before, kRecord.before);
        EXPECT_EQ(record.given, kRecord.given);
        return Result<void>();
      });
  const grpc::Status status = reserve(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(told.declaration.identity.port_guid, Guid(0x0002c903000a1b2d)) << "0x and all";
  EXPECT_EQ(told.declaration.identity.pkeys, std::vector{PartitionKey(0xffff)});
  EXPECT_EQ(told.declaration.identity.trust, true);
  EXPECT_EQ(told.declaration.identity.max_rate, 100U);
  EXPECT_FALSE(told.declaration.identity.min_rate);
}

TEST_F(IdentityAtTheDestination, that_cannot_be_is_refused_with_the_reason_and_nothing_is_kept) {
  EXPECT_CALL(hostb_.fabric, stageIdentity).Times(0);
  ON_CALL(hostb_.fabric, planIdentity)
      .WillByDefault(testing::Return(failure(ErrorCode::kConflict, "give 0000:3b:00.2 this identity",
                                             "port GUID 00:02:… is VF 1 of ib0's on this host", "See it.")));
  const grpc::Status status = reserve(request);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.error_message(), HasSubstr("is VF 1 of ib0's on this host"));
  EXPECT_TRUE(hostb_.vfRecords().empty());
  EXPECT_TRUE(hostb_.leases().empty());
}

TEST_F(IdentityAtTheDestination, that_cannot_be_is_a_finding_of_preflight) {
  ON_CALL(hostb_.fabric, planIdentity)
      .WillByDefault(testing::Return(failure(ErrorCode::kRefused, "give 0000:3b:00.2 this identity",
                                             "PF ens1 is in link layer Ethernet, which has no port GUID",
                                             "Correct the VM's metadata.")));
  v1::PartnerExamineRequest examined;
  examined.set_domain("vm1");
  examined.set_uuid(kUuid);
  examined.set_source_host("hosta");
  *examined.mutable_vfs() = request.vfs();
  v1::PartnerExamineReply reply;
  ASSERT_TRUE(hostb_.call(&v1::Partner::Stub::Examine, examined, reply).ok());
  ASSERT_EQ(reply.findings_size(), 1);
  EXPECT_EQ(reply.findings(0).code(), "identity");
  EXPECT_EQ(reply.findings(0).severity(), v1::Finding::ERROR);
  EXPECT_THAT(reply.findings(0).sentence(), HasSubstr("PF ens1 is in link layer Ethernet"));
  EXPECT_TRUE(hostb_.vfRecords().empty());
}

TEST_F(IdentityAtTheDestination, that_cannot_be_staged_is_taken_off_again) {
  ON_CALL(hostb_.fabric, stageIdentity)
      .WillByDefault(testing::Return(failure(ErrorCode::kUnavailable, "stage it", "I/O error")));
  EXPECT_CALL(hostb_.fabric, takeIdentity(VfName("br0#0"), testing::_, testing::Optional(testing::_)));
  const grpc::Status status = reserve(request);
  EXPECT_THAT(status.error_message(), HasSubstr("I/O error"));
  EXPECT_TRUE(hostb_.vfRecords().empty());
  EXPECT_TRUE(hostb_.leases().empty());
}

TEST_F(IdentityAtTheDestination, is_taken_off_when_the_vm_does_not_come_and_only_then_the_lease_is_free) {
  ASSERT_TRUE(reserve(request).ok());
  EXPECT_CALL(hostb_.fabric, takeIdentity)
      .WillOnce([&](const VfName&, const Identity& identity, const std::optional<IdentityRecord>& record) {
        EXPECT_EQ(identity.port_guid, Guid(0x0002c903000a1b2d));
        EXPECT_TRUE(record && record->before == kRecord.before);
        EXPECT_EQ(hostb_.leases().size(), 1U);
        return failure(ErrorCode::kUnavailable, "take it", "I/O error");
      })
      .WillOnce(testing::Return(Result<void>()));
  ASSERT_TRUE(withdraw().ok());
  waitForNoLease();
  EXPECT_TRUE(hostb_.leases().empty());
  EXPECT_TRUE(hostb_.vfRecords().empty());
}

class IdentityOfAVmThatIsGone : public PartnerServiceTest {
 protected:
  IdentityOfAVmThatIsGone() {
    hostb_.keepVf({kVf, kRecord.before, kRecord.given});
    ON_CALL(hostb_.hypervisor, list).WillByDefault(testing::Return(std::vector<DomainStatus>{}));
    ON_CALL(hostb_.fabric, takeIdentity).WillByDefault([this](const VfName&, const Identity&, const auto&) {
      taken_.set_value();
      return Result<void>();
    });
  }
  void undefined() {
    hostb_.coordinator().onLifecycle(DomainUuid(kUuid), Lifecycle::kUndefined, LifecycleDetail::kOther);
  }
  template <class Condition>
  bool within(Condition condition) {
    for (int i = 0; i < 200 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return condition();
  }
  const VfName kVf{"0000:3b:00.2"};
  std::promise<void> taken_;
};

TEST_F(IdentityOfAVmThatIsGone, is_taken_off_and_forgotten) {
  EXPECT_CALL(hostb_.fabric, takeIdentity(kVf, Identity(), testing::Optional(testing::_)));
  undefined();
  EXPECT_TRUE(within([this] { return hostb_.vfRecords().empty() && hostb_.leases().empty(); }));
}

TEST_F(IdentityOfAVmThatIsGone, stays_while_a_definition_claims_the_vf_or_libvirt_cannot_be_asked) {
  DomainStatus vm1;
  vm1.name = "vm1";
  vm1.uuid = DomainUuid(kUuid);
  vm1.state = DomainState::kShutOff;
  vm1.persistent = true;
  std::promise<void> asked;
  ON_CALL(hostb_.hypervisor, list).WillByDefault(testing::Return(std::vector<DomainStatus>{vm1}));
  EXPECT_CALL(hostb_.hypervisor, xml).WillOnce([&](const DomainUuid&, XmlKind) {
    asked.set_value();
    return Result<std::string>(
        "<domain><devices><hostdev mode='subsystem' type='pci'><source><address domain='0x0000' bus='0x3b' "
        "slot='0x00' function='0x2'/></source></hostdev></devices></domain>");
  });
  EXPECT_CALL(hostb_.fabric, takeIdentity).Times(0);
  undefined();
  ASSERT_EQ(asked.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  std::promise<void> failed;
  EXPECT_CALL(hostb_.hypervisor, list).WillOnce([&] {
    failed.set_value();
    return failure(ErrorCode::kUnavailable, "ask libvirt", "it is away");
  });
  // A look that comes while another runs is made up for after it.
  undefined();
  ASSERT_EQ(failed.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(hostb_.vfRecords().size(), 1U);
}

TEST_F(IdentityOfAVmThatIsGone, stays_when_it_cannot_be_taken_off_and_the_vf_is_not_leased_meanwhile) {
  EXPECT_CALL(hostb_.fabric, takeIdentity).WillOnce([&](const VfName&, const Identity&, const auto&) {
    EXPECT_EQ(hostb_.leases().size(), 1U);
    taken_.set_value();
    return failure(ErrorCode::kUnavailable, "take it", "I/O error");
  });
  undefined();
  ASSERT_EQ(taken_.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_TRUE(within([this] { return hostb_.leases().empty(); }));
  EXPECT_EQ(hostb_.vfRecords().size(), 1U) << "and is tried again at the next end of a VM";
}

}  // namespace
}  // namespace rdmove
