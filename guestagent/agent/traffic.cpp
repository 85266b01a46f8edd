#include "guestagent/agent/traffic.hpp"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace rdmove::agent {
namespace {

using Counters = std::map<std::string, std::uint64_t>;
using Names = std::initializer_list<const char*>;

// IBTA's PortXmitData and PortRcvData count 32-bit words ("divided by 4"), and sysfs passes them on.
constexpr std::uint64_t word_bytes = 4;

/// The first that is there: a driver's own count of RDMA before the port's.
std::optional<std::uint64_t> first(const Counters& counters, Names names) {
  for (const char* name : names) {
    if (const auto found = counters.find(name); found != counters.end()) return found->second;
  }
  return std::nullopt;
}

/// All that are there, since one driver has several for one name: each is another reason to send again.
std::optional<std::uint64_t> sum(const Counters& counters, Names names) {
  std::optional<std::uint64_t> out;
  for (const char* name : names) {
    if (const auto found = counters.find(name); found != counters.end()) {
      out = out.value_or(0) + found->second;
    }
  }
  return out;
}

void set(protocol::PortTraffic& traffic, const char* name, std::optional<std::uint64_t> value) {
  if (value) traffic.values[name] = *value;
}

struct Data {
  std::optional<std::uint64_t> in, out;
};

Data data_of_port(const Counters& counters) {
  Data data{first(counters, {"rx_bytes"}), first(counters, {"tx_bytes"})};  // bnxt_re, efa
  if (data.in || data.out) return data;
  data = {first(counters, {"port_rcv_data"}), first(counters, {"port_xmit_data"})};
  if (data.in) *data.in *= word_bytes;
  if (data.out) *data.out *= word_bytes;
  return data;
}

}  // namespace

protocol::PortTraffic traffic_of(const Counters& counters) {
  protocol::PortTraffic out;
  auto data = data_of_port(counters);
  out.data_of = "port";
  if (!data.in && !data.out) {
    data = {first(counters, {"netdev_rx_bytes"}), first(counters, {"netdev_tx_bytes"})};
    out.data_of = "interface";
  }
  if (!data.in && !data.out) out.data_of.clear();
  set(out, "data_in", data.in);
  set(out, "data_out", data.out);
  set(out, "packets_in", first(counters, {"rcvd_pkts", "rx_pkts", "port_rcv_packets"}));
  set(out, "packets_out", first(counters, {"sent_pkts", "tx_pkts", "port_xmit_packets"}));
  set(out, "retries",
      sum(counters, {"completer_retry_err", "rcvd_rnr_err",                           // rxe
                     "local_ack_timeout_err", "packet_seq_err", "rnr_nak_retry_err",  // mlx5
                     "sq_num_to", "sq_num_oos", "sq_num_rnr",                         // mlx4
                     "to_retransmits", "seq_err_naks_rcvd", "rnr_naks_rcvd",          // bnxt_re
                     "retrans_pkts"}));                                               // efa
  set(out, "out_of_sequence",
      sum(counters, {"out_of_seq_request", "out_of_sequence", "rq_num_oos", "oos_drop_count"}));
  return out;
}

std::vector<protocol::DeviceTraffic> traffic_of(RdmaLinks& links) {
  std::vector<protocol::DeviceTraffic> out;
  for (auto& device : links.counters()) out.push_back({device.rdma, device.port, std::move(device.traffic)});
  return out;
}

}  // namespace rdmove::agent
