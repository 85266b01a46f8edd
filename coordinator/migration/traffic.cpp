#include "coordinator/migration/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rdmove {
namespace {

constexpr std::size_t kMostName = 64;

/// The interface's own bytes move without any RDMA: they show nothing.
bool showsRdma(const DeviceTraffic& device, const std::string& name) {
  const bool data = name == "data_in" || name == "data_out";
  return (data && device.data_of == "port") || name == "packets_in" || name == "packets_out";
}

std::uint64_t valueIn(const Traffic& traffic, const DeviceTraffic& like, const std::string& name) {
  for (const DeviceTraffic& device : traffic) {
    if (device.rdma != like.rdma || device.port != like.port) continue;
    const auto found = device.values.find(name);
    return found == device.values.end() ? 0 : found->second;
  }
  return 0;
}

enum class Seen { kNothing, kStill, kMoving };

Seen look(const Traffic& baseline, const Traffic& after) {
  Seen seen = Seen::kNothing;
  for (const DeviceTraffic& device : after) {
    for (const auto& [name, value] : device.values) {
      if (!showsRdma(device, name)) continue;
      if (value > valueIn(baseline, device, name)) return Seen::kMoving;
      seen = Seen::kStill;
    }
  }
  return seen;
}

}  // namespace

Traffic bounded(Traffic traffic) {
  if (traffic.size() > kMostTrafficDevices) traffic.resize(kMostTrafficDevices);
  for (DeviceTraffic& device : traffic) {
    device.rdma.resize(std::min(device.rdma.size(), kMostName));
    device.data_of.resize(std::min(device.data_of.size(), kMostName));
    std::erase_if(device.values, [](const auto& value) { return value.first.size() > kMostName; });
    while (device.values.size() > kMostTrafficValues) device.values.erase(std::prev(device.values.end()));
  }
  return traffic;
}

std::string trafficToJson(const Traffic& traffic) {
  auto list = nlohmann::json::array();
  for (const DeviceTraffic& device : bounded(traffic)) {
    list.push_back({{"rdma", device.rdma},
                    {"port", device.port},
                    {"data_of", device.data_of},
                    {"traffic", device.values}});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Traffic trafficFromJson(std::string_view text) try {
  Traffic traffic;
  for (const auto& item : nlohmann::json::parse(text)) {
    DeviceTraffic device;
    item.at("rdma").get_to(device.rdma);
    item.at("port").get_to(device.port);
    item.at("data_of").get_to(device.data_of);
    item.at("traffic").get_to(device.values);
    traffic.push_back(std::move(device));
  }
  return bounded(std::move(traffic));
} catch (const nlohmann::json::exception&) {
  return {};
}

std::optional<std::string> trafficWarning(const Traffic& baseline, const Traffic& after,
                                          const std::vector<AgentApplication>& applications) {
  unsigned long long up = 0;
  const AgentApplication* first = nullptr;
  for (const AgentApplication& application : applications) {
    up += application.up;
    if (application.up > 0 && first == nullptr) first = &application;
  }
  if (first == nullptr) return std::nullopt;
  const std::string who = fmt::format("applications say that {} connections are up ({} with pid {} first)",
                                      up, first->name, first->pid);
  switch (look(baseline, after)) {
    case Seen::kMoving:
      return std::nullopt;
    case Seen::kStill:
      return "warning: " + who +
             ", but no RDMA counter has moved since the device came back. See rdmove agent VM counters "
             "--watch.";
    case Seen::kNothing:
      break;
  }
  return "warning: " + who + ", and no RDMA counter of the guest can be read that would show it.";
}

}  // namespace rdmove
