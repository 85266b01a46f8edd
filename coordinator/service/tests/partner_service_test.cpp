// What a destination makes of a partner's words: whatever is not right is refused with a sentence, and
// nothing of it is left.
#include <gtest/gtest.h>

#include <future>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/tests/partner_calls.hpp"

namespace rdmove {
namespace {

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
