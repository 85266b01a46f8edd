#include "coordinator/cli/format/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "coordinator/cli/format/agent_object.hpp"
#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"

namespace rdmove::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Column {
  const char* name;
  const char* heading;
};
constexpr std::array kColumns{
    Column{"data_in", "DATA IN"},       Column{"data_out", "DATA OUT"},
    Column{"packets_in", "PACKETS IN"}, Column{"packets_out", "PACKETS OUT"},
    Column{"retries", "RETRIES"},       Column{"out_of_sequence", "OUT OF SEQUENCE"}};

bool isData(std::string_view name) {
  return name == "data_in" || name == "data_out";
}

std::string cell(const PortTraffic& port, const Column& column, Counted counted) {
  const auto found = port.values.find(column.name);
  if (found == port.values.end()) return {};
  if (isData(column.name)) return byteCount(static_cast<unsigned long long>(found->second));
  return counted == Counted::kInAll ? fmt::format("{:.0f}", found->second)
                                    : fmt::format("{:.1f}", found->second);
}

const PortTraffic* find(const Ports& ports, const PortTraffic& like) {
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const PortTraffic& port) {
    return port.rdma == like.rdma && port.port == like.port;
  });
  return found == ports.end() ? nullptr : &*found;
}

Json valuesAsJson(const PortTraffic& port, Counted counted) {
  Json out = Json::object();
  for (const auto& [name, value] : port.values) {
    if (counted == Counted::kInAll) {
      out[name] = static_cast<std::uint64_t>(value);
    } else {
      out[name] = std::round(value * 10) / 10;
    }
  }
  return out;
}

}  // namespace

std::optional<Ports> readPorts(std::string_view agent_object) {
  const Json object = readAgentObject(agent_object);
  if (!object.is_object() || !object.contains("devices") || !object["devices"].is_array())
    return std::nullopt;
  Ports ports;
  for (const Json& device : object["devices"]) {
    if (!device.is_object() || !device.contains("traffic") || !device["traffic"].is_object())
      return std::nullopt;
    PortTraffic port;
    if (device.contains("rdma") && device["rdma"].is_string()) port.rdma = device["rdma"].get<std::string>();
    if (device.contains("port") && device["port"].is_number_unsigned())
      port.port = device["port"].get<unsigned>();
    if (device.contains("data_of") && device["data_of"].is_string())
      port.data_of = device["data_of"].get<std::string>();
    for (const auto& [name, value] : device["traffic"].items()) {
      if (value.is_number_unsigned()) port.values[name] = static_cast<double>(value.get<std::uint64_t>());
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

Ports readPorts(const google::protobuf::RepeatedPtrField<v1::DeviceTraffic>& devices) {
  Ports ports;
  for (const v1::DeviceTraffic& device : devices) {
    ports.push_back({device.rdma(), device.port(), device.data_of(), {}});
    for (const auto& [name, value] : device.traffic()) ports.back().values[name] = static_cast<double>(value);
  }
  return ports;
}

std::string portsAsTable(const Ports& ports, Counted counted, std::size_t indent) {
  const std::string margin(indent, ' ');
  if (ports.empty()) return margin + "no RDMA device\n";
  std::vector<std::string> headings{"DEVICE", "PORT"};
  for (const Column& column : kColumns)
    headings.push_back(column.heading + std::string(counted == Counted::kPerSecond ? "/s" : ""));
  Table table(headings);
  std::string of_interface;
  for (const PortTraffic& port : ports) {
    std::vector<std::string> cells{port.rdma, std::to_string(port.port)};
    for (const Column& column : kColumns) cells.push_back(cell(port, column, counted));
    table.add(std::move(cells));
    if (port.data_of == "interface")
      of_interface += (of_interface.empty() ? "" : ", ") + printable(port.rdma);
  }
  std::string text = table.str(indent);
  if (!of_interface.empty())
    text +=
        fmt::format("{}data of {}: all bytes of the network interface, since RDMA's own are not counted\n",
                    margin, of_interface);
  return text;
}

Ports perSecond(const Ports& before, const Ports& after, std::chrono::duration<double> between) {
  Ports rates;
  for (const PortTraffic& port : after) {
    const PortTraffic* old = find(before, port);
    if (old == nullptr || between.count() <= 0) continue;
    PortTraffic rate = port;
    for (auto& [name, value] : rate.values) {
      const auto was = old->values.find(name);
      const double from = was == old->values.end() || was->second > value ? 0 : was->second;
      value = (value - from) / between.count();
    }
    rates.push_back(std::move(rate));
  }
  return rates;
}

std::string portsAsJson(const Ports& ports, const std::optional<Rates>& rates) {
  Json out = Json::object();
  if (rates) out["interval_s"] = std::round(rates->between.count() * 1000) / 1000;
  out["devices"] = Json::array();
  for (const PortTraffic& port : ports) {
    Json device{{"rdma", port.rdma}, {"port", port.port}, {"data_of", port.data_of}};
    device["traffic"] = valuesAsJson(port, Counted::kInAll);
    if (const PortTraffic* rate = rates ? find(rates->ports, port) : nullptr)
      device["per_second"] = valuesAsJson(*rate, Counted::kPerSecond);
    out["devices"].push_back(std::move(device));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rdmove::cli
