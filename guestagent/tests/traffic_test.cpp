#include "guestagent/agent/traffic.hpp"

#include <gmock/gmock.h>

namespace rdmove::agent {
namespace {

using protocol::PortTraffic;
using testing::Pair;
using testing::UnorderedElementsAre;

// As /sys/class/infiniband/rxe0/ports/1/hw_counters of Linux 6.1 has them.
TEST(Traffic, of_soft_roce_counts_packets_and_takes_the_interfaces_bytes) {
  const PortTraffic traffic = traffic_of({{"sent_pkts", 100},
                                          {"rcvd_pkts", 90},
                                          {"completer_retry_err", 2},
                                          {"rcvd_rnr_err", 3},
                                          {"out_of_seq_request", 4},
                                          {"duplicate_request", 9},
                                          {"netdev_rx_bytes", 5000},
                                          {"netdev_tx_bytes", 6000},
                                          {"netdev_rx_packets", 77}});
  EXPECT_EQ(traffic.data_of, "interface");
  EXPECT_THAT(traffic.values,
              UnorderedElementsAre(Pair("data_in", 5000), Pair("data_out", 6000), Pair("packets_in", 90),
                                   Pair("packets_out", 100), Pair("retries", 5), Pair("out_of_sequence", 4)));
}

TEST(Traffic, of_mlx5_is_in_bytes_though_the_port_counts_words_of_four) {
  const PortTraffic traffic = traffic_of({{"port_rcv_data", 1000},
                                          {"port_xmit_data", 2000},
                                          {"port_rcv_packets", 10},
                                          {"port_xmit_packets", 20},
                                          {"local_ack_timeout_err", 1},
                                          {"packet_seq_err", 2},
                                          {"rnr_nak_retry_err", 4},
                                          {"out_of_sequence", 8},
                                          {"netdev_rx_bytes", 5}});
  EXPECT_EQ(traffic.data_of, "port");
  EXPECT_THAT(traffic.values,
              UnorderedElementsAre(Pair("data_in", 4000), Pair("data_out", 8000), Pair("packets_in", 10),
                                   Pair("packets_out", 20), Pair("retries", 7), Pair("out_of_sequence", 8)));
}

TEST(Traffic, what_a_driver_does_not_count_is_absent_and_not_zero) {
  EXPECT_EQ(traffic_of({}), PortTraffic{});
  const PortTraffic traffic = traffic_of({{"port_rcv_data", 0}, {"something_else", 1}});
  EXPECT_THAT(traffic.values, UnorderedElementsAre(Pair("data_in", 0)));
}

}  // namespace
}  // namespace rdmove::agent
