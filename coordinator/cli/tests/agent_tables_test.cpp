// What people see of the guest agent's apps and counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/cli/format/applications.hpp"
#include "coordinator/cli/format/text_formatter.hpp"
#include "coordinator/cli/format/traffic.hpp"

namespace rdmove::cli {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCounters =
    R"({"devices":[{"rdma":"rxe0","port":1,"data_of":"interface","counters":{"rcvd_pkts":90},)"
    R"("traffic":{"data_in":2048,"data_out":512,"packets_in":90,"packets_out":100,"retries":0}}]})";

std::string shown(const char* json, std::string_view query) {
  v1::QueryAgentReply reply;
  reply.set_json(json);
  return TextFormatter(100).format(reply, query);
}

TEST(Applications, are_a_table_with_what_each_reports) {
  EXPECT_EQ(shown(R"({"left_out":2,"applications":[
    {"pid":214,"name":"rping","uid":0,"registered_s":61,"hold":"none",
     "report":{"connections":3,"up":2,"state":"reconnecting","last_blackout_ms":71,"resent":5}},
    {"pid":215,"name":"silent","uid":1000,"registered_s":3,"hold":"asked"}]})",
                  "apps"),
            "PID  NAME    UID   UP/ALL  STATE         LAST BLACKOUT  RESENT  LETS GO  REGISTERED\n"
            "214  rping   0     2/3     reconnecting  71 ms          5       -        61 s ago\n"
            "215  silent  1000  -       -             -              -       asked    3 s ago\n"
            "and 2 more\n");
  EXPECT_EQ(shown(R"({"left_out":0,"applications":[]})", "apps"), "no application is registered\n");
}

TEST(Applications, bear_what_a_hostile_guest_says) {
  const std::string text = shown(R"({"applications":[{"pid":"\u001b[2J","name":[1],"report":7}]})", "apps");
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  for (const char* odd : {"", "x", "7", R"({"applications":7})", R"({"applications":[7]})"}) {
    EXPECT_FALSE(applicationsAsTable(odd)) << odd;
    EXPECT_FALSE(shown(odd, "apps").empty()) << odd;
  }
}

TEST(Counters, are_a_table_that_says_whose_bytes_they_are) {
  EXPECT_EQ(shown(kCounters, "counters"),
            "DEVICE  PORT  DATA IN  DATA OUT  PACKETS IN  PACKETS OUT  RETRIES  OUT OF SEQUENCE\n"
            "rxe0    1     2.0 KiB  512 B     90          100          0        -\n"
            "data of rxe0: all bytes of the network interface, since RDMA's own are not counted\n");
  EXPECT_EQ(shown(R"({"devices":[]})", "counters"), "no RDMA device\n");
}

TEST(Counters, per_second_are_the_difference_over_the_time_between) {
  const Ports before{{"rxe0", 1, "port", {{"packets_in", 100}, {"retries", 50}}}};
  const Ports after{{"rxe0", 1, "port", {{"packets_in", 150}, {"retries", 20}, {"data_in", 10}}},
                    {"rxe1", 1, "port", {{"packets_in", 9}}}};
  const Ports rates = perSecond(before, after, seconds(2));
  ASSERT_EQ(rates.size(), 1U) << "rxe1 was not there before";
  EXPECT_DOUBLE_EQ(rates[0].values.at("packets_in"), 25);
  EXPECT_DOUBLE_EQ(rates[0].values.at("retries"), 10) << "it went back: the device was made anew";
  EXPECT_THAT(portsAsTable(rates, Counted::kPerSecond), HasSubstr("PACKETS IN/s"));
  EXPECT_THAT(portsAsTable(rates, Counted::kPerSecond), HasSubstr("25.0"));
}

TEST(Counters, as_json_have_no_rates_at_the_first_look) {
  const Ports ports{{"rxe0", 1, "port", {{"packets_in", 5}}}};
  EXPECT_EQ(
      portsAsJson(ports, std::nullopt),
      "{\"devices\":[{\"rdma\":\"rxe0\",\"port\":1,\"data_of\":\"port\",\"traffic\":{\"packets_in\":5}}]}\n");
  EXPECT_EQ(
      portsAsJson(ports, Rates{perSecond(ports, ports, seconds(1)), seconds(1)}),
      "{\"interval_s\":1.0,\"devices\":[{\"rdma\":\"rxe0\",\"port\":1,\"data_of\":\"port\",\"traffic\":{"
      "\"packets_in\":5},\"per_second\":{\"packets_in\":0.0}}]}\n");
}

TEST(Counters, of_both_ends_of_a_migration_are_in_its_record) {
  v1::ShowReply reply;
  for (const char* when : {"before", "after"}) {
    auto* snapshot = reply.add_traffic();
    snapshot->set_when(when);
    auto* device = snapshot->add_devices();
    device->set_rdma("rxe0");
    device->set_port(1);
    (*device->mutable_traffic())["packets_in"] = when[0] == 'b' ? 90 : 7;
  }
  const std::string text = TextFormatter(100).format(reply);
  EXPECT_THAT(text, HasSubstr("\ntraffic before:\n  DEVICE"));
  EXPECT_THAT(text, HasSubstr("\ntraffic after:\n  DEVICE"));
  EXPECT_THAT(text, HasSubstr("  rxe0    1     -        -         7 "));
}

}  // namespace
}  // namespace rdmove::cli
