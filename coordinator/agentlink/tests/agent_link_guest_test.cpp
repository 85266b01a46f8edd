// What a guest may say: answers of each kind, other versions, garbage, floods.
#include <utility>
//
#include "coordinator/agentlink/tests/fake_guest.hpp"

namespace rdmove {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

class GuestTest : public testing_support::AgentLinkFixture {
 protected:
  /// After whatever was said, the link still works.
  void stillAnswers() {
    answers_.clear();
    askHoldouts();
    sayLine(result(next("holdouts"), {{"holdouts", json::array()}}));
    ASSERT_TRUE(answered());
    EXPECT_TRUE(answers_[0]) << answers_[0].error().sentence();
  }

  std::vector<AgentDevice> devices() {
    return {{DeviceAlias("ua-rdma0"), *MacAddress::parse("52:54:00:77:00:01"), true}};
  }
  static json holdoutsJson() {
    return json::array({{{"pid", 9}, {"name", "a\x1b[2Jb"}, {"device", "rxe0"}}});
  }
};

TEST_F(GuestTest, another_version_is_incompatible_and_both_are_named) {
  openLink();
  askHoldouts();
  sayLine(result(next("hello"), {{"version", 7}}));
  ASSERT_TRUE(answered());
  EXPECT_EQ(answers_[0].error().code, ErrorCode::kIncompatible);
  EXPECT_THAT(answers_[0].error().sentence(), HasSubstr("version 7"));
  EXPECT_THAT(answers_[0].error().sentence(), HasSubstr("version 1"));
}

TEST_F(GuestTest, a_refused_hello_is_incompatible_too_and_the_next_request_tries_anew) {
  openLink();
  askHoldouts();
  sayLine(error(next("hello"), -32014, "version", {{"version", 2}}));
  ASSERT_TRUE(answered());
  EXPECT_THAT(answers_[0].error().sentence(), HasSubstr("version 2"));
  askHoldouts();
  ASSERT_TRUE(run([&] { return hypervisor_.wireCount() == 2; }));
  greet();
  EXPECT_FALSE(next("holdouts").is_null());
}

TEST_F(GuestTest, garbage_is_dropped) {
  openLink();
  greet();
  std::string deep =
      R"({"jsonrpc":"2.0","id":1,"result":{"a":)" + std::string(5000, '[') + std::string(5000, ']') + "}}\n";
  for (const std::string& garbage :
       {std::string("hello\n"), std::string("\xff\xfe\n"), std::string("[]\n{}\n"),
        std::string("{\"jsonrpc\":\"2.0\"}\n"),
        std::string(R"({"jsonrpc":"2.0","id":"1","result":{}})") + "\n",
        std::string(R"({"jsonrpc":"2.0","id":1,"result":{}})") + "\n",
        std::string(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}})") + "\n",
        std::string(R"({"jsonrpc":"2.0","id":5,"method":"shutdown","params":{}})") + "\n",
        std::string(R"({"jsonrpc":"2.0","method":"hello","params":{"version":"x"}})") + "\n", deep,
        std::string(100000, 'x') + "\n", std::string(200000, 'y') + "\n"}) {
    say(garbage);
    runFor(1ms);
  }
  stillAnswers();
}

TEST_F(GuestTest, an_answer_counts_once_and_only_for_its_request) {
  openLink();
  greet();
  askHoldouts();
  const json asked = next("holdouts");
  json other = result(asked, {{"holdouts", json::array()}});
  other["id"] = asked["id"].get<std::string>() + "0";
  sayLine(other);
  runFor(5ms);
  EXPECT_TRUE(answers_.empty());
  sayLine(result(asked, {{"holdouts", json::array()}}));
  sayLine(result(asked, {{"holdouts", json::array()}}));
  ASSERT_TRUE(answered());
  runFor(5ms);
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(GuestTest, bytes_faster_than_the_loop_are_lost_and_the_stream_finds_its_lines_again) {
  openLink();
  greet();
  askHoldouts();
  const json asked = next("holdouts");
  say("{\"half");  // the loop is not served from here on
  for (int i = 0; i < 40; ++i) say(std::string(16 * 1024, 'z'));
  runFor(1ms);
  say("tail of a lost line" + result(asked, {{"holdouts", json::array()}}).dump() + "\n");
  runFor(5ms);
  EXPECT_TRUE(answers_.empty());
  sayLine(result(asked, {{"holdouts", json::array()}}));
  ASSERT_TRUE(answered());
}

TEST_F(GuestTest, a_flood_ends_the_channel_and_the_request_survives_it) {
  limits_.lines_per_second = 50;
  openLink();
  greet();
  askHoldouts();
  next("holdouts");
  const json noise = {{"jsonrpc", "2.0"}, {"method", "device-arrived"}, {"params", json::object()}};
  for (int i = 0; i < 100; ++i) sayLine(noise);
  ASSERT_TRUE(run([&] { return hypervisor_.wireCount() == 2; }));
  EXPECT_EQ(hypervisor_.wires[0]->listener, nullptr);
}

TEST_F(GuestTest, prepare_tells_holdouts_as_an_outcome) {
  openLink();
  greet();
  std::optional<Result<PrepareOutcome>> outcome;
  link_->prepare(MigrationId("m-1"), devices(), 2000ms, false,
                 [&](Result<PrepareOutcome> r) { outcome = std::move(r); });
  const json asked = next("prepare");
  EXPECT_EQ(asked["params"]["migration"], "m-1");
  EXPECT_EQ(asked["params"]["deadline_ms"], 2000);
  EXPECT_EQ(asked["params"]["devices"][0]["kind"], "soft-roce");
  sayLine(error(asked, -32010, "held", {{"holdouts", holdoutsJson()}}));
  ASSERT_TRUE(run([&] { return outcome.has_value(); }));
  ASSERT_TRUE(*outcome) << outcome->error().sentence();
  EXPECT_EQ((*outcome)->holdouts.at(0).pid, 9);
  EXPECT_EQ((*outcome)->holdouts.at(0).name, "a?[2Jb") << "no control characters for the operator's terminal";
}

TEST_F(GuestTest, a_forced_prepare_tells_apart_who_still_holds_on) {
  openLink();
  greet();
  std::optional<Result<PrepareOutcome>> outcome;
  link_->prepare(MigrationId("m-1"), devices(), 2000ms, true,
                 [&](Result<PrepareOutcome> r) { outcome = std::move(r); });
  sayLine(result(
      next("prepare"),
      {{"devices", json::array()}, {"applications", 2}, {"took_ms", 5}, {"holdouts", holdoutsJson()}}));
  ASSERT_TRUE(run([&] { return outcome.has_value(); }));
  EXPECT_TRUE((*outcome)->holdouts.empty());
  EXPECT_EQ((*outcome)->overridden.size(), 1U);
  EXPECT_EQ((*outcome)->applications, 2);
}

TEST_F(GuestTest, restore_answers_devices_and_names_what_is_missing) {
  openLink();
  greet();
  std::vector<Result<RestoreOutcome>> outcomes;
  const auto keep = [&](Result<RestoreOutcome> r) { outcomes.push_back(std::move(r)); };
  link_->restore(MigrationId("m-1"), devices(), 1000ms, keep);
  sayLine(result(
      next("restore"),
      {{"took_ms", 7},
       {"warnings", json::array()},
       {"devices", json::array({{{"alias", "ua-rdma0"},
                                 {"mac", "52:54:00:77:00:01"},
                                 {"netdev", "eth1"},
                                 {"rdma", "rxe0"},
                                 {"gids", json::array({{{"index", 1},
                                                        {"gid", "fe80:0000:0000:0000:5054:00ff:fe77:0001"},
                                                        {"type", "RoCE v2"}}})},
                                 {"addresses", json::array({"10.77.0.1/24"})}}})}}));
  ASSERT_TRUE(run([&] { return outcomes.size() == 1; }));
  ASSERT_TRUE(outcomes[0]) << outcomes[0].error().sentence();
  EXPECT_EQ(outcomes[0]->devices.at(0).netdev, "eth1");
  EXPECT_EQ(outcomes[0]->devices.at(0).gids.at(0), "fe80:0000:0000:0000:5054:00ff:fe77:0001");
  link_->restore(MigrationId("m-1"), devices(), 1000ms, keep);
  sayLine(error(next("restore"), -32013, "no GID for 10.77.0.1",
                {{"missing", "gid"}, {"name", "x"}, {"alias", "y"}}));
  ASSERT_TRUE(run([&] { return outcomes.size() == 2; }));
  EXPECT_EQ(outcomes[1].error().code, ErrorCode::kTimeout);
  EXPECT_THAT(outcomes[1].error().sentence(), HasSubstr("no GID for 10.77.0.1"));
}

TEST_F(GuestTest, query_passes_the_agents_object_on_and_knows_two_methods) {
  openLink();
  greet();
  std::vector<Result<std::string>> texts;
  const auto keep = [&](Result<std::string> r) { texts.push_back(std::move(r)); };
  link_->query("status", 1000ms, keep);
  sayLine(result(next("status"),
                 {{"devices", json::array()}, {"applications", 3}, {"prepared", nullptr}, {"new", 1}}));
  ASSERT_TRUE(run([&] { return texts.size() == 1; }));
  ASSERT_TRUE(texts[0]) << texts[0].error().sentence();
  EXPECT_EQ(json::parse(*texts[0])["new"], 1);
  link_->query("counters", 1000ms, keep);
  sayLine(result(next("counters"), {{"devices", 7}}));
  link_->query("shutdown", 1000ms, keep);
  ASSERT_TRUE(run([&] { return texts.size() == 3; }));
  for (const std::size_t i : {1U, 2U}) EXPECT_FALSE(texts[i]);
}

TEST_F(GuestTest, what_cannot_be_asked_is_refused_without_asking) {
  openLink();
  greet();
  std::vector<ErrorCode> codes;
  const auto keep = [&](Result<PrepareOutcome> r) {
    codes.push_back(r ? ErrorCode::kInternal : r.error().code);
  };
  link_->prepare(MigrationId("../etc"), devices(), 1s, false, keep);
  link_->prepare(MigrationId("m-1"), {}, 1s, false, keep);
  EXPECT_TRUE(codes.empty()) << "never from inside the call";
  ASSERT_TRUE(run([&] { return codes.size() == 2; }));
  EXPECT_THAT(codes, testing::Each(ErrorCode::kBadInput));
}

}  // namespace
}  // namespace rdmove
