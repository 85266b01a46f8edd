#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "guestagent/protocol/application.hpp"
#include "guestagent/protocol/events.hpp"
#include "guestagent/protocol/hello.hpp"
#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/limits.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove::protocol {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const MigrationId migration = *MigrationId::parse("m-1");
const MacAddress mac = *MacAddress::parse("52:54:00:AB:00:01");
const PortGuid guid = *PortGuid::parse("00:02:C9:03:00:0a:1b:2c");
const GidEntry gid{1, "0000:0000:0000:0000:0000:ffff:0a00:0005", "RoCE v2"};
const std::vector<DeviceTarget> targets{{"ua-rdma0", mac, DeviceKind::SoftRoce}};
const std::vector<RestoredDevice> restored{{"ua-rdma0",
                                            mac,
                                            "eth0",
                                            "rxe0",
                                            {gid},
                                            {"10.0.0.5/24"},
                                            "",
                                            SubnetPort{0x1b, {0xffff, 0, 0x8001}, {gid.gid}},
                                            SubnetPort{0, {1}, {gid.gid}}}};
const std::vector<Holdout> holdouts{{42, "ibv_rc_pingpong", "rxe0"}};

HelloRequest hello() {
  return {1, "rdmove 0.1.0", "hosta"};
}
HelloAnswer hello_answer() {
  return {1, "rdmove 0.1.0", "boot", "instance"};
}
StatusResult status() {
  return {{{"rxe0", "eth0", mac, "0000:06:00.0", "ACTIVE", 1500, {gid}, {"10.0.0.5/24"}}}, migration, 2};
}
CountersResult counters() {
  return {{{"rxe0", 1, {{"sent_pkts", 18446744073709551615U}}, {"port", {{"data_in", 4}}}}}};
}
application::Report report() {
  return {2, 1, application::ReportedState::Reconnecting, std::chrono::milliseconds(71), 5};
}
AppsResult apps() {
  return {{{42, "rping", 1000, 3600, Hold::Asked, report()}, {43, "b", 0, 0, Hold::None, {}}}, 1};
}
PrepareRequest prepare() {
  return {migration, std::chrono::milliseconds(2000), true, targets};
}
PrepareResult prepared() {
  return {{{"ua-rdma0", mac, "eth0", {"10.0.0.5/24"}}}, 1, std::chrono::milliseconds(12), holdouts};
}
RestoreRequest restore() {
  return {migration, std::chrono::milliseconds(9), targets};
}
RestoreResult restore_result() {
  return {restored, std::chrono::milliseconds(3), {"a route"}};
}

// Why a message with these params is refused; empty: it is taken. Type-erased, since json is slow to compile.
using Parse = std::function<std::string(const json&)>;

template <class Message>
Parse parser() {
  return [](const json& value) {
    const auto result = Message::from_payload(Payload(value));
    return result ? std::string{} : result.error().message;
  };
}

template <class Message>
void expect_round_trip(const Message& message) {
  const auto back = Message::from_payload(message.to_payload());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, message);
}

void expect_unknown_keys_ignored(json value, const Parse& parse) {
  value["key_of_a_later_version"] = 1;
  EXPECT_EQ(parse(value), "");
}

TEST(Messages, survive_the_wire) {
  expect_round_trip(hello());
  expect_round_trip(hello_answer());
  expect_round_trip(status());
  expect_round_trip(StatusResult{});
  expect_round_trip(StatusResult{
      {{"mlx5_0", "ib0", MacAddress(), "0000:06:00.0", "ACTIVE", 2044, {gid}, {}, guid}}, std::nullopt, 0});
  expect_round_trip(RestoreRequest{migration, std::chrono::milliseconds(9), {{"ua-rdma0", guid}}});
  expect_round_trip(PrepareResult{{{"ua-rdma0", guid, "ib0", {}}}, 0, std::chrono::milliseconds(1), {}});
  expect_round_trip(RestoreResult{
      {{"ua-rdma0", guid, "ib0", "mlx5_0", {gid}, {}, "NetworkManager"}}, std::chrono::milliseconds(3), {}});
  expect_round_trip(DeviceRemoved{guid, "ib0"});
  expect_round_trip(HoldoutsResult{holdouts});
  expect_round_trip(counters());
  expect_round_trip(apps());
  expect_round_trip(PeersResult{{"10.0.0.6", "fe80::1"}});
  expect_round_trip(PeersResult{});
  expect_round_trip(prepare());
  expect_round_trip(prepared());
  expect_round_trip(restore());
  expect_round_trip(restore_result());
  expect_round_trip(MissingPiece{"gid", gid.gid, "ua-rdma0"});
  expect_round_trip(DeviceRemoved{mac, "eth0"});
  expect_round_trip(DeviceArrived{mac, "eth0"});
  expect_round_trip(Ready{migration, restored});
  expect_round_trip(application::Register{1, "rping"});
  expect_round_trip(application::Accepted{});
  expect_round_trip(report());
  expect_round_trip(application::Report{});
  expect_round_trip(application::Quiesce{migration, std::chrono::milliseconds(5)});
  expect_round_trip(application::Released{});
  expect_round_trip(application::Ready{migration, {"10.0.0.5/24"}});
}

const auto wrongs = json::parse(R"([null, -5, 1.5, [1], {"a": 1}, ")" + std::string(2000, 'x') + R"("])");

// Every key that is taken away, and every value replaced by each kind of wrong one, must be refused by name.
void expect_each_field_checked(const json& good, const Parse& parse, const std::string& optional_key) {
  const auto flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    const json::json_pointer at(pointer);
    const bool optional = at.back() == optional_key;
    for (const json& wrong : wrongs) {
      if (wrong.is_null() && optional) continue;
      auto bad = good;
      bad[at] = wrong;
      EXPECT_THAT(parse(bad), HasSubstr(": ")) << pointer << " in " << bad;
    }
    const bool element = isdigit(at.back().front()) != 0;
    if (element || optional) continue;
    auto bad = good;
    bad[at.parent_pointer()].erase(at.back());
    EXPECT_THAT(parse(bad), HasSubstr("is missing")) << pointer;
  }
}

template <class Message>
void expect_all_fields_checked(const Message& message, const std::string& optional_key = {}) {
  expect_unknown_keys_ignored(message.to_payload().json(), parser<Message>());
  expect_each_field_checked(message.to_payload().json(), parser<Message>(), optional_key);
}

TEST(Messages, check_every_field_that_they_know_and_ignore_others) {
  expect_all_fields_checked(hello());
  expect_all_fields_checked(hello_answer());
  expect_all_fields_checked(status(), "prepared");
  expect_all_fields_checked(HoldoutsResult{holdouts});
  expect_all_fields_checked(prepare(), "force");
  expect_all_fields_checked(prepared());
  expect_all_fields_checked(restore());
  expect_all_fields_checked(restore_result());
  expect_all_fields_checked(MissingPiece{"gid", "g", "a"});
  expect_all_fields_checked(DeviceRemoved{mac, "eth0"});
  expect_all_fields_checked(DeviceArrived{mac, "eth0"});
  expect_all_fields_checked(Ready{migration, restored});
  expect_all_fields_checked(application::Register{1, "rping"});
  expect_all_fields_checked(apps(), "last_blackout_ms");
  expect_all_fields_checked(PeersResult{{"10.0.0.6"}});
  expect_all_fields_checked(application::Report{2, 1, application::ReportedState::Up, {}, 5});
  expect_all_fields_checked(application::Quiesce{migration, std::chrono::milliseconds(5)});
  expect_all_fields_checked(application::Released{});
  expect_all_fields_checked(application::Ready{migration, {"10.0.0.5/24"}});
}

template <class Message>
std::string why_refused(const Message& good, const std::function<void(json&)>& spoil) {
  auto value = good.to_payload().json();
  spoil(value);
  return parser<Message>()(value);
}

TEST(Messages, name_the_field_by_its_path) {
  EXPECT_THAT(why_refused(prepare(), [](json& v) { v["devices"][0]["mac"] = "52:54"; }),
              HasSubstr("devices[0].mac"));
  EXPECT_THAT(why_refused(restore_result(), [](json& v) { v["devices"][0]["port"]["pkeys"] = {65536}; }),
              HasSubstr("devices[0].port.pkeys: must be integers from 0 to 65535"));
  EXPECT_THAT(
      why_refused(restore_result(), [](json& v) { v["devices"][0]["port_before"]["gids"] = {"fe80::1"}; }),
      HasSubstr("devices[0].port_before.gids: must be a GID"));
  EXPECT_THAT(why_refused(restore_result(), [](json& v) { v["devices"][0]["gids"][0].erase("index"); }),
              HasSubstr("devices[0].gids[0].index: is missing"));
  EXPECT_THAT(why_refused(prepare(), [](json& v) { v["devices"][0]["kind"] = "ib"; }),
              HasSubstr("soft-roce"));
  EXPECT_THAT(why_refused(prepare(), [](json& v) { v["migration"] = "../x"; }), HasSubstr("migration: "));
  EXPECT_THAT(why_refused(prepare(), [](json& v) { v["deadline_ms"] = 99'999'999; }),
              HasSubstr("deadline_ms: "));
}

TEST(Messages, name_a_device_by_its_mac_or_by_its_port_guid) {
  const PrepareRequest infiniband{migration, std::chrono::milliseconds(1), false, {{"ua-rdma0", guid}}};
  const auto text = infiniband.to_payload().json()["devices"][0];
  EXPECT_EQ(text["guid"], "00:02:c9:03:00:0a:1b:2c");
  EXPECT_FALSE(text.contains("mac"));
  expect_all_fields_checked(infiniband, "force");
  EXPECT_THAT(why_refused(infiniband, [](json& v) { v["devices"][0]["mac"] = "52:54:00:ab:00:01"; }),
              HasSubstr("devices[0].guid: must not be there beside a mac"));
  EXPECT_THAT(why_refused(infiniband, [](json& v) { v["devices"].push_back(v["devices"][0]); }),
              HasSubstr("twice"));
}

TEST(Messages, take_only_unsigned_integers_as_counters) {
  const CountersResult good{{{"rxe0", 1, {{"sent_pkts", 5}}, {}}}};
  for (const json& wrong : json::parse(R"([-1, 0.5, "7", null])")) {
    EXPECT_THAT(why_refused(good, [&](json& v) { v["devices"][0]["counters"]["sent_pkts"] = wrong; }),
                HasSubstr("devices[0].counters.sent_pkts"));
  }
}

TEST(Messages, an_error_that_names_a_counter_is_utf8) {
  std::string name = "x";
  for (int i = 0; i < 100; ++i) name += "\u00e9";
  const auto read = CountersResult::from_payload(
      Payload(json{{"devices", {{{"rdma", "rxe0"}, {"port", 1}, {"counters", {{name, -1}}}}}}}));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("counters.x\u00e9"));
  EXPECT_NO_THROW((void)json(read.error().message).dump()) << "it throws if it is not UTF-8";
}

TEST(Messages, a_report_is_bounded_by_its_sender_and_refused_beyond) {
  using std::chrono::milliseconds;
  const application::Report wild{4'000'000'000U, 4'000'000'000U, application::ReportedState::Up,
                                 milliseconds(99'999'999), ~std::uint64_t{0}};
  const auto said = application::Report::from_payload(wild.to_payload());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->connections, limits::connections);
  EXPECT_EQ(said->last_blackout, limits::deadline);
  EXPECT_EQ(said->resent, limits::resent);
  EXPECT_THAT(why_refused(report(), [](json& v) { v["up"] = 3; }),
              HasSubstr("up: must be an integer from 0 to 2"));
  EXPECT_THAT(why_refused(report(), [](json& v) { v["connections"] = 1'000'001; }),
              HasSubstr("connections: "));
  EXPECT_THAT(why_refused(report(), [](json& v) { v["resent"] = ~std::uint64_t{0}; }), HasSubstr("resent: "));
  EXPECT_THAT(why_refused(report(), [](json& v) { v["last_blackout_ms"] = -1; }),
              HasSubstr("last_blackout_ms: "));
  EXPECT_THAT(why_refused(report(), [](json& v) { v["state"] = "fine"; }), HasSubstr("state: must be up"));
}

TEST(Messages, as_many_applications_are_listed_as_fit_a_line) {
  AppsResult many;
  for (int i = 0; i < 256; ++i)
    many.applications.push_back({i, std::string(128, '\x01'), 0, 9, Hold::None, report()});
  EXPECT_LT(many.to_payload().text().size(), limits::line_bytes);
  const auto said = AppsResult::from_payload(many.to_payload());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_GT(said->applications.size(), 50U);
  EXPECT_EQ(said->applications.size() + said->left_out, 256U);
}

TEST(Messages, an_agent_of_before_tells_no_traffic) {
  auto old = counters().to_payload().json();
  old["devices"][0].erase("traffic");
  old["devices"][0].erase("data_of");
  EXPECT_EQ(parser<CountersResult>()(old), "");
}

TEST(Messages, limit_how_many) {
  EXPECT_THAT(why_refused(prepare(), [](json& v) { v["devices"] = json::array(); }), HasSubstr("devices"));
  EXPECT_THAT(why_refused(prepare(), [](json& v) { v["devices"].push_back(v["devices"][0]); }),
              HasSubstr("twice"));
  const auto many = [](std::size_t count) { return json(std::vector<json>(count, json("10.0.0.1/8"))); };
  EXPECT_THAT(
      why_refused(prepared(), [&](json& v) { v["devices"][0]["addresses"] = many(limits::addresses + 1); }),
      HasSubstr("at most"));
  EXPECT_THAT(
      why_refused(HoldoutsResult{holdouts},
                  [](json& v) { v["holdouts"] = std::vector<json>(limits::holdouts + 1, v["holdouts"][0]); }),
      HasSubstr("at most"));
}

TEST(Messages, say_which_versions_do_not_match) {
  auto value = hello().to_payload().json();
  value["version"] = 2;
  value.erase("host");  // of another version, anything may be missing
  const auto result = HelloRequest::from_payload(Payload(value));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::VersionMismatch);
  EXPECT_THAT(result.error().message, HasSubstr("version 2"));
}

TEST(MacAddress, takes_one_spelling_and_gives_lower_case) {
  EXPECT_EQ(mac.text(), "52:54:00:ab:00:01");
  for (const char* bad :
       {"", "52:54:00:ab:00", "52-54-00-ab-00-01", "52:54:00:ab:00:0g", "52:54:00:ab:00:011"}) {
    EXPECT_FALSE(MacAddress::parse(bad)) << bad;
  }
}

TEST(PortGuid, takes_one_spelling_and_gives_lower_case) {
  EXPECT_EQ(guid.text(), "00:02:c9:03:00:0a:1b:2c");
  for (const char* bad : {"", "52:54:00:ab:00:01", "0002:c903:000a:1b2c", "0x0002c903000a1b2c"}) {
    EXPECT_FALSE(PortGuid::parse(bad)) << bad;
  }
}

TEST(MigrationId, is_fit_for_a_file_name) {
  EXPECT_TRUE(MigrationId::parse("0f3c-A_b.9"));
  for (const auto& bad :
       {std::string(), std::string(".."), std::string("a/b"), std::string("a b"), std::string(65, 'a')}) {
    EXPECT_FALSE(MigrationId::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace rdmove::protocol
