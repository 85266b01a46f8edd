// What RDMA ports have counted, as a table: totals, or so much a second between two looks. Read from the
// guest agent's answer to `counters`, which is read as if written by an enemy. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/service/api/common.pb.h"

namespace rdmove::cli {

struct PortTraffic {
  std::string rdma;
  unsigned port = 1;
  std::string data_of;                   ///< "port" or "interface"; other words are the guest's
  std::map<std::string, double> values;  ///< totals, or a second's share of them
};
using Ports = std::vector<PortTraffic>;

/// None: it is no answer to `counters`, or of an agent that has no common names yet.
std::optional<Ports> readPorts(std::string_view agent_object);
Ports readPorts(const google::protobuf::RepeatedPtrField<v1::DeviceTraffic>& devices);

enum class Counted { kInAll, kPerSecond };
/// With a line on whose bytes these are, where they are not RDMA's alone. "no RDMA device" if empty.
std::string portsAsTable(const Ports& ports, Counted counted, std::size_t indent = 0);

/// A port that was not there before is left out. A counter that went back belongs to a device that was made
/// anew: it began at 0.
Ports perSecond(const Ports& before, const Ports& after, std::chrono::duration<double> between);

/// One line: {"interval_s":..., "devices":[{rdma, port, data_of, traffic, per_second}]}. Without `rates` it
/// is the first look.
struct Rates {
  Ports ports;
  std::chrono::duration<double> between;
};
std::string portsAsJson(const Ports& ports, const std::optional<Rates>& rates);

}  // namespace rdmove::cli
