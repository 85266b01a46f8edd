#include "coordinator/migration/traffic.hpp"

#include <gmock/gmock.h>

namespace rdmove {
namespace {

using testing::HasSubstr;

const std::vector<AgentApplication> connected{{7, "idle", 1, 0}, {42, "rping", 3, 2}};

Traffic counted(std::uint64_t packets, std::uint64_t bytes = 0, const std::string& data_of = "interface") {
  return {{"rxe0", 1, data_of, {{"packets_in", packets}, {"packets_out", 0}, {"data_in", bytes}}}};
}

TEST(TrafficJson, is_what_the_journal_gives_back) {
  const Traffic traffic{{"rxe0", 1, "interface", {{"packets_in", ~std::uint64_t{0}}}}, {"mlx5_0", 2, "", {}}};
  EXPECT_EQ(trafficFromJson(trafficToJson(traffic)), traffic);
  EXPECT_EQ(trafficFromJson(trafficToJson({})), Traffic{});
}

TEST(TrafficJson, what_is_no_snapshot_is_none) {
  for (const char* text : {"", "x", "{}", "7", "[7]", R"([{"rdma":7}])",
                           R"([{"rdma":"a","port":-1,"data_of":"","traffic":{"x":"y"}}])"}) {
    EXPECT_EQ(trafficFromJson(text), Traffic{}) << text;
  }
}

TEST(TrafficJson, is_bounded_whoever_says_it) {
  DeviceTraffic device{std::string(1000, 'd'), 1, std::string(1000, 'x'), {{std::string(1000, 'n'), 1}}};
  for (int i = 0; i < 100; ++i) device.values["n" + std::to_string(i)] = 1;
  EXPECT_LT(trafficToJson(Traffic(100, device)).size(), 64U * 1024);
}

TEST(TrafficWarning, none_when_packets_moved_or_nobody_says_to_be_connected) {
  EXPECT_EQ(trafficWarning({}, counted(1), connected), std::nullopt);
  EXPECT_EQ(trafficWarning(counted(5), counted(6), connected), std::nullopt);
  EXPECT_EQ(trafficWarning({}, counted(0), {{7, "idle", 1, 0}}), std::nullopt);
  EXPECT_EQ(trafficWarning({}, {}, {}), std::nullopt);
}

TEST(TrafficWarning, when_no_counter_moved_although_connections_are_up) {
  const auto warning = trafficWarning({}, counted(0), connected);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning,
              HasSubstr("2 connections are up (rping with pid 42 first), but no RDMA counter has moved"));
  EXPECT_TRUE(trafficWarning(counted(5), counted(5), connected)) << "of a VF that had counted before";
}

TEST(TrafficWarning, the_interfaces_bytes_are_no_sign_of_rdma_but_the_ports_are) {
  EXPECT_TRUE(trafficWarning({}, counted(0, 1000), connected));
  EXPECT_EQ(trafficWarning({}, counted(0, 1000, "port"), connected), std::nullopt);
}

TEST(TrafficWarning, says_so_when_there_is_nothing_to_read) {
  const auto warning = trafficWarning({}, {}, connected);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, HasSubstr("no RDMA counter of the guest can be read"));
}

}  // namespace
}  // namespace rdmove
