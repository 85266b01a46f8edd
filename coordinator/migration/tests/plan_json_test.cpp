#include "coordinator/migration/plan_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Plan fullPlan() {
  Plan plan;
  plan.id = MigrationId("vm1-20261130-0a1b2c");
  plan.domain = "vm1 \"quoted\"\n\xc3\xa4";
  plan.uuid = DomainUuid("6f1c");
  plan.persistent = true;
  plan.source = HostName("hosta");
  plan.destination = HostName("hostb");
  MovingVf vf;
  vf.declaration = {DeviceAlias("ua-rdma0"), PoolName("fabric"), Model::kSharedPort, Continuity::kCarry, {}};
  vf.declaration.identity.mac = MacAddress::parse("52:54:00:77:00:01");
  vf.declaration.identity.vlan = 7;
  vf.declaration.identity.node_guid = Guid(0x0011223344556677);
  vf.declaration.identity.port_guid = Guid(0x0011223344556678);
  vf.declaration.identity.vlan_priority = 5;
  vf.declaration.identity.vlan_protocol = VlanProtocol::k8021ad;
  vf.declaration.identity.pkeys = {PartitionKey(0xffff), PartitionKey(0x0001)};
  vf.declaration.identity.trust = true;
  vf.declaration.identity.spoof_check = false;
  vf.declaration.identity.link = LinkPolicy::kAuto;
  vf.declaration.identity.min_rate = 100;
  vf.declaration.identity.max_rate = 25000;
  vf.device_xml = "<interface type='bridge'/>";
  plan.vfs.push_back(vf);
  plan.vfs.push_back(
      {{DeviceAlias("ua-rdma1"), PoolName("other"), Model::kRoce, Continuity::kReconnect, {}}, "<hostdev/>"});
  plan.options.timeout = 90s;
  plan.options.bandwidth_mib = 4'000'000'000U;
  plan.options.parallel_connections = 4;
  plan.options.postcopy = true;
  plan.options.tls = true;
  plan.options.migrate_uri = "tcp://hostb";
  plan.options.prepare_deadline = 1500ms;
  return plan;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

TEST(PlanJson, a_plan_comes_back_whole) {
  const std::string text = toJson(fullPlan());
  const auto read = planFromJson(text);
  ASSERT_TRUE(read) << read.error().sentence();
  EXPECT_EQ(toJson(*read), text);
  EXPECT_EQ(read->domain, fullPlan().domain);
  EXPECT_EQ(read->vfs.at(0).declaration, fullPlan().vfs.at(0).declaration);
  EXPECT_EQ(read->vfs.at(1).declaration, fullPlan().vfs.at(1).declaration);
  EXPECT_EQ(read->options.timeout, 90s);
  EXPECT_EQ(read->options.bandwidth_mib, 4'000'000'000U);
  EXPECT_EQ(read->options.parallel_connections, 4);
  EXPECT_TRUE(read->options.postcopy && read->options.tls && !read->options.force &&
              !read->options.auto_converge);
  EXPECT_EQ(read->options.migrate_uri, "tcp://hostb");
  EXPECT_EQ(read->options.prepare_deadline, 1500ms);
}

TEST(PlanJson, the_least_plan_comes_back) {
  const auto read = planFromJson(toJson(Plan{}));
  ASSERT_TRUE(read) << read.error().sentence();
  EXPECT_FALSE(read->options.bandwidth_mib || read->options.migrate_uri);
  EXPECT_TRUE(read->vfs.empty());
}

TEST(PlanJson, bytes_that_are_no_utf8_do_not_throw) {
  Plan plan;
  plan.domain = "vm\xff";
  EXPECT_TRUE(planFromJson(toJson(plan)));
}

struct Wrong {
  const char* from;
  const char* to;
  const char* says;
};
class WrongPlan : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPlan, names_the_field) {
  const auto read = planFromJson(changed(toJson(fullPlan()), GetParam().from, GetParam().to));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(read.error().cause, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Grid, WrongPlan,
    testing::Values(
        Wrong{"\"uuid\":", "\"uid\":", "uuid: missing"},
        Wrong{"\"persistent\":true", "\"persistent\":1",
              "persistent: expected true or false, found a number"},
        Wrong{"\"persistent\":true", "\"persistent\":true,\"colour\":1", "colour: there is no such field"},
        Wrong{"52:54:00:77:00:01", "52:54", "vfs[0].identity.mac: expected a MAC address"},
        Wrong{"\"vlan\":7", "\"vlan\":4095", "vfs[0].identity.vlan: expected a whole number from 1 to 4094"},
        Wrong{"\"vlan\":7", "\"vlan\":18446744073709551615", "vfs[0].identity.vlan: "},
        Wrong{"\"vlan\":7", "\"vlan\":7.0", "vfs[0].identity.vlan: "},
        Wrong{"\"vlan\":7", "\"vlan\":null", "vfs[0].identity.vlan: "},
        Wrong{"\"shared-port\"", "\"shared\"", "vfs[0].model: expected shared-port"},
        Wrong{"\"reconnect\"", "\"retry\"", "vfs[1].continuity: expected reconnect"},
        Wrong{"\"timeout_ms\":90000", "\"timeout_ms\":-1", "options.timeout_ms: "},
        Wrong{"\"tls\":true", "\"tls\":true,\"x\":{}", "options.x: there is no such field"},
        Wrong{"\"vfs\":[", "\"vfs\":[5,", "vfs[0]: expected an object, found a number"},
        Wrong{"\"source\":\"hosta\"", "\"source\":[]", "source: expected a string, found a array"},
        Wrong{"\"version\":1", "\"version\":\"1\"", "version: expected"}, Wrong{"{", "", "it is no JSON"}));

TEST(PlanJson, another_version_is_incompatible) {
  const auto read = planFromJson(R"({"version": 2, "whatever": 1})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIncompatible);
}

TEST(PlanJson, depth_and_size_are_bounded) {
  EXPECT_THAT(planFromJson(std::string(100'000, '[')).error().cause, HasSubstr("deeper"));
  EXPECT_THAT(planFromJson(std::string((4U << 20) + 1, ' ')).error().cause, HasSubstr("larger"));
  EXPECT_THAT(planFromJson("").error().cause, HasSubstr("no JSON"));
  EXPECT_THAT(planFromJson("[]").error().cause, HasSubstr("expected an object"));
}

TEST(PlanJson, leases_come_back_and_name_their_field) {
  const std::vector<LeasedVf> leases{
      {DeviceAlias("ua-rdma0"), PoolName("fabric"), VfName("br0#3"), "<interface/>"}};
  const std::string text = leasesToJson(leases);
  const auto read = leasesFromJson(text);
  ASSERT_TRUE(read) << read.error().sentence();
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().vf, VfName("br0#3"));
  EXPECT_EQ(read->front().device_xml, "<interface/>");
  EXPECT_THAT(leasesFromJson(changed(text, "\"vf\":", "\"fv\":")).error().cause,
              HasSubstr("leases[0].vf: missing"));
  EXPECT_THAT(leasesFromJson(R"({"version":1})").error().cause, HasSubstr("leases: missing"));
  EXPECT_TRUE(leasesFromJson(leasesToJson({}))->empty());
}

}  // namespace
}  // namespace rdmove
