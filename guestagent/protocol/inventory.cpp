#include "guestagent/protocol/inventory.hpp"

#include "guestagent/protocol/json_parts.hpp"

namespace rdmove::protocol {
inline namespace parts {

static nlohmann::json to_json(const DeviceStatus& device) {
  nlohmann::json out{{"rdma", device.rdma},
                     {"netdev", device.netdev},
                     {"mac", device.mac.text()},
                     {"pci", device.pci},
                     {"state", device.state},
                     {"mtu", device.mtu},
                     {"gids", list_json(device.gids)},
                     {"addresses", device.addresses}};
  if (device.guid) out["guid"] = device.guid->text();
  return out;
}

static nlohmann::json to_json(const DeviceCounters& device) {
  nlohmann::json out{{"rdma", device.rdma}, {"port", device.port}, {"counters", device.counters}};
  add_traffic(out, device.traffic);
  return out;
}

static void read_status(FieldReader& in, DeviceStatus& out) {
  in.text("rdma", out.rdma, limits::rdma_name_bytes);
  in.text("netdev", out.netdev, limits::netdev_bytes);
  in.mac("mac", out.mac);
  if (in.has("guid")) in.guid("guid", out.guid.emplace());
  in.text("pci", out.pci, limits::name_bytes);
  in.text("state", out.state, limits::name_bytes);
  in.integer("mtu", out.mtu);
  in.list("gids", out.gids, limits::gids, read_gid);
  in.texts("addresses", out.addresses, limits::addresses, limits::address_bytes);
}

static void read_counters(FieldReader& in, DeviceCounters& out) {
  in.text("rdma", out.rdma, limits::rdma_name_bytes);
  in.integer("port", out.port);
  in.counters("counters", out.counters, limits::counters);
  read_port_traffic(in, out.traffic);
}

}  // namespace parts

Payload StatusResult::to_payload() const {
  return Payload({{"devices", parts::list_json(devices)},
                  {"prepared", prepared ? nlohmann::json(prepared->text()) : nlohmann::json()},
                  {"applications", applications}});
}

Result<StatusResult> StatusResult::from_payload(const Payload& payload) {
  StatusResult out;
  FieldReader in(payload.json());
  in.list("devices", out.devices, limits::devices, parts::read_status);
  in.optional_migration("prepared", out.prepared);
  in.integer("applications", out.applications);
  return in.finish(std::move(out));
}

Payload HoldoutsResult::to_payload() const {
  return Payload(nlohmann::json{{"holdouts", parts::list_json(holdouts)}});
}

Result<HoldoutsResult> HoldoutsResult::from_payload(const Payload& payload) {
  HoldoutsResult out;
  FieldReader in(payload.json());
  in.list("holdouts", out.holdouts, limits::holdouts, parts::read_holdout);
  return in.finish(std::move(out));
}

Payload CountersResult::to_payload() const {
  return Payload(nlohmann::json{{"devices", parts::list_json(devices)}});
}

Result<CountersResult> CountersResult::from_payload(const Payload& payload) {
  CountersResult out;
  FieldReader in(payload.json());
  in.list("devices", out.devices, limits::devices, parts::read_counters);
  return in.finish(std::move(out));
}

Payload PeersResult::to_payload() const {
  return Payload(nlohmann::json{{"peers", peers}});
}

Result<PeersResult> PeersResult::from_payload(const Payload& payload) {
  PeersResult out;
  FieldReader in(payload.json());
  in.texts("peers", out.peers, limits::peers, limits::address_bytes);
  return in.finish(std::move(out));
}

}  // namespace rdmove::protocol
