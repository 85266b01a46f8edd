// What a destination makes of a partner's words: whatever is not right is refused with a sentence, and
// nothing of it is left.
#include <gtest/gtest.h>

#include <future>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMigration = "vm1-20261130-0a1b2c";
constexpr const char* kUuid = "52540077-0000-4000-8000-000000000001";
constexpr const char* kDevice =
    "<interface type='bridge'><mac address='52:54:00:77:00:01'/><model type='virtio'/><alias "
    "name='ua-rdma0'/>"
    "<address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/></interface>";

v1::PartnerVf goodVf() {
  v1::PartnerVf vf;
  vf.set_alias("ua-rdma0");
  vf.set_pool("fabric");
  vf.set_model("roce");
  vf.set_continuity("reconnect");
  vf.set_mac("52:54:00:77:00:01");
  vf.set_device_xml(kDevice);
  return vf;
}

v1::ReserveRequest goodReservation() {
  v1::ReserveRequest request;
  request.set_migration(kMigration);
  request.set_domain("vm1");
  request.set_uuid(kUuid);
  request.set_persistent(true);
  request.set_source_host("hosta");
  request.set_hold_ms(60000);
  *request.add_vfs() = goodVf();
  return request;
}

class PartnerServiceTest : public testing::Test {
 protected:
  grpc::Status reserve(const v1::ReserveRequest& request) {
    return hostb_.call(&v1::Partner::Stub::Reserve, request, granted_);
  }
  grpc::Status examine(const v1::ReserveRequest& like) {
    v1::PartnerExamineRequest request;
    request.set_domain(like.domain());
    request.set_uuid(like.uuid());
    request.set_source_host(like.source_host());
    *request.mutable_vfs() = like.vfs();
    v1::PartnerExamineReply reply;
    return hostb_.call(&v1::Partner::Stub::Examine, request, reply);
  }
  grpc::Status hello(unsigned api, const std::string& host) {
    v1::HelloRequest request;
    request.set_api(api);
    request.set_host(host);
    request.set_instance("instance-of-" + host);
    v1::HelloReply reply;
    return hostb_.call(&v1::Partner::Stub::Hello, request, reply);
  }
  void expectNothingChanged() {
    EXPECT_TRUE(hostb_.migrations().empty());
    EXPECT_TRUE(hostb_.leases().empty());
  }
  /// Both calls that carry VFs refuse it with `code` and a sentence that says `what`.
  void expectRefused(const v1::ReserveRequest& request, StatusCode code, const std::string& what) {
    for (const grpc::Status& status : {examine(request), reserve(request)}) {
      EXPECT_EQ(status.error_code(), code) << what << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(what));
    }
    expectNothingChanged();
  }

  Destination hostb_;
  v1::ReserveReply granted_;
};

TEST_F(PartnerServiceTest, another_version_of_the_api_is_refused_by_name) {
  const grpc::Status status = hello(kPartnerApi + 6, "hosta");
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("hostb speaks version " + std::to_string(kPartnerApi)));
  EXPECT_THAT(status.error_message(), HasSubstr("hosta speaks " + std::to_string(kPartnerApi + 6)));
  EXPECT_THAT(status.error_message(), HasSubstr("Install the same version"));
  EXPECT_TRUE(hello(kPartnerApi, "hosta").ok());
}

TEST_F(PartnerServiceTest, an_unknown_source_host_is_refused) {
  EXPECT_EQ(hello(kPartnerApi, "hostz").error_code(), StatusCode::FAILED_PRECONDITION);
  v1::ReserveRequest request = goodReservation();
  request.set_source_host("hostz");
  expectRefused(request, StatusCode::FAILED_PRECONDITION, "hostb does not know the host hostz");
}

TEST_F(PartnerServiceTest, a_source_host_without_a_name_is_refused) {
  v1::ReserveRequest request = goodReservation();
  request.set_source_host("");
  for (const grpc::Status& status : {examine(request), reserve(request)}) {
    const bool with_a_finding = status.ok();  // Examine may say it as one of its findings
    EXPECT_TRUE(with_a_finding || status.error_code() == StatusCode::FAILED_PRECONDITION)
        << status.error_code() << ": " << status.error_message();
  }
  expectNothingChanged();
}

TEST_F(PartnerServiceTest, a_pool_that_the_source_may_not_use_is_refused) {
  v1::ReserveRequest request = goodReservation();
  request.mutable_vfs(0)->set_pool("storage");
  const grpc::Status status = reserve(request);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("hosta may not use pool storage of hostb"));
  expectNothingChanged();
}

TEST_F(PartnerServiceTest, more_than_16_vfs_are_refused) {
  v1::ReserveRequest request = goodReservation();
  while (request.vfs_size() < 17) *request.add_vfs() = goodVf();
  expectRefused(request, StatusCode::INVALID_ARGUMENT, "more than 16 VFs");
}

TEST_F(PartnerServiceTest, a_field_that_is_not_valid_is_named) {
  const std::pair<const char*, std::function<void(v1::PartnerVf&)>> wrong[] = {
      {"field alias", [](auto& vf) { vf.set_alias(""); }},
      {"field alias", [](auto& vf) { vf.set_alias(std::string(129, 'a')); }},
      {"field model", [](auto& vf) { vf.set_model("rocee"); }},
      {"field continuity", [](auto& vf) { vf.set_continuity("perhaps"); }},
      {"field mac", [](auto& vf) { vf.set_mac("52:54:00:77:00"); }},
      {"field mac", [](auto& vf) { vf.set_mac("52:54:00:77:00:0g"); }},
      {"field vlan", [](auto& vf) { vf.set_vlan(4095); }},
      {"field vlan_priority", [](auto& vf) { vf.set_vlan_priority(8); }},
      {"field vlan_protocol", [](auto& vf) { vf.set_vlan_protocol("802.1x"); }},
      {"field node_guid", [](auto& vf) { vf.set_node_guid("00:00:00:00:00:00:00:00"); }},
      {"field port_guid", [](auto& vf) { vf.set_port_guid("ff:ff:ff:ff:ff:ff:ff:ff"); }},
      {"field port_guid", [](auto& vf) { vf.set_port_guid("01:02:c9:03:00:0a:1b:2c"); }},
      {"field pkeys", [](auto& vf) { vf.add_pkeys(0x18001); }},
      {"field pkeys", [](auto& vf) { vf.add_pkeys(0x8000); }},
      {"field link", [](auto& vf) { vf.set_link("up"); }},
      {"field max_rate_mbit", [](auto& vf) { vf.set_max_rate_mbit(2000000); }},
      {"field device_xml", [](auto& vf) { vf.set_device_xml(""); }},
      {"field device_xml", [](auto& vf) { vf.set_device_xml("<interface type='bridge'"); }},
      {"field device_xml", [](auto& vf) { vf.set_device_xml("<disk><alias name='ua-rdma0'/></disk>"); }},
      {"field device_xml", [](auto& vf) { vf.set_device_xml("<interface type='bridge'/>"); }},
      {"field device_xml", [](auto& vf) { vf.set_device_xml(kDevice + std::string(70000, ' ')); }},
  };
  for (const auto& [field, spoil] : wrong) {
    v1::ReserveRequest request = goodReservation();
    spoil(*request.mutable_vfs(0));
    expectRefused(request, StatusCode::INVALID_ARGUMENT, field);
  }
}

TEST_F(PartnerServiceTest, a_migration_or_uuid_that_is_not_valid_is_refused) {
  for (const auto& [migration, uuid] :
       {std::pair{std::string(), std::string(kUuid)}, std::pair{std::string(129, 'm'), std::string(kUuid)},
        std::pair{std::string(kMigration), std::string("52540077")}}) {
    v1::ReserveRequest request = goodReservation();
    request.set_migration(migration);
    request.set_uuid(uuid);
    EXPECT_EQ(reserve(request).error_code(), StatusCode::INVALID_ARGUMENT);
    expectNothingChanged();
  }
}

TEST_F(PartnerServiceTest, what_is_granted_names_no_script_path_or_device_of_the_destination) {
  v1::ReserveRequest request = goodReservation();
  request.mutable_vfs(0)->set_device_xml(
      "<interface type='ethernet' managed='yes'>"
      "<source file='/etc/shadow' dev='eth0' bridge='lan0' network='default'/>"
      "<script path='/tmp/evil'/><downscript path='/tmp/evil'/><backend tap='/dev/evil' vhost='/dev/evil'/>"
      "<target dev='vnet0' managed='no'/><guest dev='evil'/><tune><sndbuf>0</sndbuf></tune>"
      "<mac address='52:54:00:77:00:01'/><model type='virtio'/><driver name='vhost' queues='2'/>"
      "<alias name='ua-rdma0'/><address type='pci' domain='0x0000' bus='0x06' slot='0x00' "
      "function='0x0'/></interface>");
  const grpc::Status status = reserve(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(granted_.granted_size(), 1);
  const std::string xml = granted_.granted(0).device_xml();
  for (const char* hostile :
       {"script", "/tmp", "/etc", "/dev", "file", "vnet0", "eth0", "lan0", "default", "evil", "ethernet"}) {
    EXPECT_THAT(xml, Not(HasSubstr(hostile)));
  }
  EXPECT_THAT(xml, HasSubstr("bridge=\"br0\""));
  EXPECT_TRUE(sameForGuest(xml, kDevice)) << xml;
}

TEST_F(PartnerServiceTest, a_rom_file_of_the_destination_is_not_named_either) {
  v1::ReserveRequest request = goodReservation();
  request.mutable_vfs(0)->set_device_xml(
      "<interface type='bridge'><mac address='52:54:00:77:00:01'/><model type='virtio'/><alias "
      "name='ua-rdma0'/>"
      "<rom bar='on' file='/etc/shadow'/></interface>");
  const grpc::Status status = reserve(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(granted_.granted(0).device_xml(), Not(HasSubstr("/etc/shadow")));
}

TEST_F(PartnerServiceTest, an_xml_with_entities_is_not_expanded) {
  v1::ReserveRequest request = goodReservation();
  request.mutable_vfs(0)->set_device_xml(
      "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><interface type='bridge'>"
      "<mac address='52:54:00:77:00:01'/><model type='&e;'/><alias name='ua-rdma0'/></interface>");
  const grpc::Status status = reserve(request);
  for (const auto& vf : granted_.granted()) EXPECT_THAT(vf.device_xml(), Not(HasSubstr("root:")));
  if (!status.ok()) expectNothingChanged();
}

TEST_F(PartnerServiceTest, a_second_reservation_of_the_same_migration_or_vm_is_a_conflict) {
  ASSERT_TRUE(reserve(goodReservation()).ok());
  EXPECT_EQ(reserve(goodReservation()).error_code(), StatusCode::ALREADY_EXISTS);
  v1::ReserveRequest other = goodReservation();
  other.set_migration("vm1-20261130-ffffff");
  EXPECT_EQ(reserve(other).error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(hostb_.leases().size(), 1U);
}

TEST_F(PartnerServiceTest, a_pool_without_a_free_vf_is_exhausted_and_leases_nothing) {
  ON_CALL(hostb_.fabric, vfs).WillByDefault(testing::Return(std::vector<VfInfo>{}));
  const grpc::Status status = reserve(goodReservation());
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("pool fabric of hostb has no free VF"));
  EXPECT_TRUE(hostb_.leases().empty());
}

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

TEST_F(PartnerServiceTest, a_withdrawal_frees_the_lease) {
  ASSERT_TRUE(reserve(goodReservation()).ok());
  ASSERT_EQ(hostb_.leases().size(), 1U);
  v1::WithdrawRequest request;
  request.set_migration(kMigration);
  request.set_source_runs(true);
  v1::WithdrawReply reply;
  const grpc::Status status = hostb_.call(&v1::Partner::Stub::Withdraw, request, reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(reply.running_here());
  for (int i = 0; i < 100 && !hostb_.leases().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(hostb_.leases().empty());
  const auto rows = hostb_.migrations();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().outcome, Outcome::kWithdrawn);
}

TEST_F(PartnerServiceTest,
       what_the_guest_had_counted_is_journaled_with_the_word_for_the_identity_and_bounded) {
  ASSERT_TRUE(reserve(goodReservation()).ok());
  v1::ReleaseIdentityRequest release;
  release.set_migration(kMigration);
  for (int i = 0; i < 100; ++i) {
    v1::DeviceTraffic& device = *release.add_traffic_before();
    device.set_rdma("rxe" + std::to_string(i));
    device.set_port(1);
    for (int n = 0; n < 100; ++n) (*device.mutable_traffic())["n" + std::to_string(n)] = ~std::uint64_t{0};
  }
  v1::ReleaseIdentityReply released;
  const grpc::Status status = hostb_.call(&v1::Partner::Stub::ReleaseIdentity, release, released);
  ASSERT_TRUE(status.ok()) << status.error_message();
  Traffic kept;
  for (const FactRecord& fact : hostb_.facts(kMigration)) {
    if (fact.name == kTrafficBefore) kept = trafficFromJson(fact.value);
  }
  ASSERT_EQ(kept.size(), kMostTrafficDevices);
  EXPECT_EQ(kept[0].rdma, "rxe0");
  EXPECT_EQ(kept[0].values.size(), kMostTrafficValues);
  EXPECT_EQ(kept[0].values.begin()->second, ~std::uint64_t{0});
}

TEST_F(PartnerServiceTest, an_unknown_migration_is_said_to_be_unknown) {
  v1::ReleaseIdentityRequest release;
  release.set_migration("vm1-nosuch");
  v1::ReleaseIdentityReply released;
  const grpc::Status status = hostb_.call(&v1::Partner::Stub::ReleaseIdentity, release, released);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("no reservation vm1-nosuch"));

  // A source that has proven that it runs the VM only gives the reservation back: there is none, which is as
  // good.
  v1::WithdrawRequest withdraw;
  withdraw.set_migration("vm1-nosuch");
  withdraw.set_source_runs(true);
  v1::WithdrawReply reply;
  const grpc::Status given_back = hostb_.call(&v1::Partner::Stub::Withdraw, withdraw, reply);
  EXPECT_TRUE(given_back.ok()) << given_back.error_message();
  EXPECT_FALSE(reply.running_here());
  // One that asks who runs it gets no word from a journal that does not know the VM.
  withdraw.set_source_runs(false);
  const grpc::Status asked = hostb_.call(&v1::Partner::Stub::Withdraw, withdraw, reply);
  EXPECT_EQ(asked.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(asked.error_message(), HasSubstr("does not know vm1-nosuch"));

  v1::FollowRequest follow;
  follow.set_migration("vm1-nosuch");
  grpc::ClientContext context;
  const auto reader = hostb_.stub->Follow(&context, follow);
  v1::ArrivalReport report;
  EXPECT_FALSE(reader->Read(&report));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::NOT_FOUND);
  expectNothingChanged();
}

}  // namespace
}  // namespace rdmove
