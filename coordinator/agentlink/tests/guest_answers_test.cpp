#include "coordinator/agentlink/guest_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rdmove {
namespace {

Answer refusal(int code, nlohmann::json data = nlohmann::json::object()) {
  return tl::unexpected(
      protocol::Error{static_cast<protocol::ErrorCode>(code), "why", protocol::Payload(std::move(data))});
}

TEST(GuestAnswers, error_codes_become_ours) {
  const std::pair<int, ErrorCode> table[] = {
      {-32011, ErrorCode::kNotFound},     {-32012, ErrorCode::kConflict},     {-32013, ErrorCode::kTimeout},
      {-32014, ErrorCode::kIncompatible}, {-32601, ErrorCode::kIncompatible}, {-32602, ErrorCode::kInternal},
      {-1, ErrorCode::kInternal},
  };
  for (const auto& [theirs, ours] : table)
    EXPECT_EQ(prepareOutcome(refusal(theirs)).error().code, ours) << theirs;
}

TEST(GuestAnswers, a_holdout_error_without_holdouts_is_never_success) {
  EXPECT_EQ(prepareOutcome(refusal(-32010)).error().code, ErrorCode::kHoldouts);
  EXPECT_EQ(prepareOutcome(refusal(-32010, {{"holdouts", nlohmann::json::array()}})).error().code,
            ErrorCode::kHoldouts);
  EXPECT_EQ(prepareOutcome(refusal(-32010, {{"holdouts", 7}})).error().code, ErrorCode::kHoldouts);
}

TEST(GuestAnswers, malformed_results_are_errors) {
  const Answer empty = protocol::Payload(nlohmann::json::object());
  EXPECT_EQ(prepareOutcome(empty).error().code, ErrorCode::kInternal);
  EXPECT_EQ(restoreOutcome(empty).error().code, ErrorCode::kInternal);
  EXPECT_EQ(holdoutsAnswer(empty).error().code, ErrorCode::kInternal);
  EXPECT_EQ(queryAnswer("counters", empty).error().code, ErrorCode::kInternal);
}

TEST(GuestAnswers, a_port_guid_is_what_an_infiniband_device_is_known_by) {
  const MacAddress mac = *MacAddress::parse("52:54:00:77:00:01");
  const Guid guid = *Guid::parse("00:02:c9:03:00:0a:1b:2c");
  const auto targets =
      targetsOf({{DeviceAlias("ua-rdma0"), mac, true}, {DeviceAlias("ua-ib0"), mac, false, guid, true}});
  ASSERT_TRUE(targets);
  EXPECT_EQ(to_text(targets->at(0).identity), "52:54:00:77:00:01");
  EXPECT_FALSE(targets->at(0).may_have_new_gids);
  EXPECT_EQ(to_text(targets->at(1).identity), "00:02:c9:03:00:0a:1b:2c");
  EXPECT_TRUE(targets->at(1).may_have_new_gids);
}

TEST(GuestAnswers, how_the_subnet_manager_knew_a_port_comes_with_the_restored_device) {
  const auto outcome = restoreOutcome(protocol::Payload(nlohmann::json::parse(R"({"took_ms":1,"devices":[
    {"alias":"ua-ib0","guid":"00:02:c9:03:00:0a:1b:2c","netdev":"ib0","rdma":"mlx5_0","gids":[],"addresses":[],
     "port_before":{"lid":27,"pkeys":[65535,0,32769],"gids":["fe80:0000:0000:0000:0002:c903:000a:1b2c"]},
     "port":{"lid":0,"pkeys":[],"gids":[]}},
    {"alias":"ua-rdma0","mac":"52:54:00:77:00:01","netdev":"eth1","rdma":"rxe0","gids":[],"addresses":[]}]})")));
  ASSERT_TRUE(outcome) << outcome.error().sentence();
  EXPECT_EQ(outcome->devices[0].port_before,
            (SubnetPort{27, {0xffff, 0, 0x8001}, {"fe80:0000:0000:0000:0002:c903:000a:1b2c"}}));
  EXPECT_EQ(outcome->devices[0].port, SubnetPort{});
  EXPECT_EQ(outcome->devices[1].port, std::nullopt);
}

TEST(GuestAnswers, who_put_the_addresses_back_and_what_was_not_comes_with_it) {
  const auto outcome = restoreOutcome(protocol::Payload(nlohmann::json::parse(R"({"took_ms":1,"devices":[
    {"alias":"ua-rdma0","mac":"52:54:00:77:00:01","netdev":"eth1","rdma":"rxe0","gids":[],"addresses":[],
     "managed_by":"NetworkManager"}],
    "warnings":["not put back: 10.9.0.0/16\n"]})")));
  ASSERT_TRUE(outcome) << outcome.error().sentence();
  EXPECT_EQ(outcome->devices[0].managed_by, "NetworkManager");
  ASSERT_EQ(outcome->warnings.size(), 1U);
  EXPECT_EQ(outcome->warnings[0].find('\n'), std::string::npos) << "a guest's words are for one line";
  EXPECT_NE(outcome->warnings[0].find("10.9.0.0/16"), std::string::npos);
}

TEST(GuestAnswers, an_agent_that_does_not_know_the_request_is_said_to_be_too_old_in_one_sentence) {
  for (const auto& error :
       {queryAnswer("apps", refusal(-32601)).error(), applicationsAnswer(refusal(-32601)).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kIncompatible);
    EXPECT_EQ(error.sentence(),
              "cannot ask the agent for apps: the guest's rdmove-agent is too old to know this request; "
              "update it in "
              "the guest.");
  }
}

TEST(GuestAnswers, an_application_without_a_report_has_no_connection_up) {
  const auto apps =
      applicationsAnswer(protocol::Payload(nlohmann::json::parse(R"({"left_out":0,"applications":[
    {"pid":7,"name":"a\u001b","uid":0,"registered_s":3,"hold":"none"},
    {"pid":8,"name":"b","uid":0,"registered_s":3,"hold":"none",
     "report":{"connections":3,"up":2,"state":"reconnecting","resent":0}}]})")));
  ASSERT_TRUE(apps) << apps.error().sentence();
  EXPECT_EQ(apps->at(0).name, "a?");
  EXPECT_EQ(apps->at(0).up, 0U);
  EXPECT_EQ(apps->at(1).up, 2U);
  EXPECT_EQ(apps->at(1).connections, 3U);
}

TEST(GuestAnswers, traffic_is_taken_by_its_common_names_from_counters_and_from_prepare) {
  const auto device = nlohmann::json::parse(
      R"({"rdma":"rxe0","port":1,"data_of":"interface","traffic":{"packets_in":5},"counters":{"rcvd_pkts":5}})");
  const Traffic expected{{"rxe0", 1, "interface", {{"packets_in", 5}}}};
  const auto counters = trafficAnswer(protocol::Payload(nlohmann::json{{"devices", {device}}}));
  ASSERT_TRUE(counters) << counters.error().sentence();
  EXPECT_EQ(*counters, expected);
  const auto prepared = prepareOutcome(protocol::Payload(nlohmann::json{
      {"devices", nlohmann::json::array()}, {"applications", 0}, {"took_ms", 1}, {"traffic", {device}}}));
  ASSERT_TRUE(prepared) << prepared.error().sentence();
  EXPECT_EQ(prepared->traffic, expected);
}

TEST(GuestAnswers, text_of_the_guest_is_made_printable_and_short) {
  EXPECT_EQ(printable("a\n\x1b[31mb\x7f"), "a??[31mb?");
  EXPECT_EQ(printable(std::string(10000, 'x')).size(), 512U);
}

}  // namespace
}  // namespace rdmove
