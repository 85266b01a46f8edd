// A restored device to and from JSON, for `restore` and `ready`. Internal to the protocol's .cpp files.
#pragma once

#include "guestagent/protocol/json_parts.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove::protocol::inline parts {

inline nlohmann::json to_json(const RestoredDevice& device) {
  nlohmann::json out{
      {"alias", device.alias},          {identity_key(device.identity), to_text(device.identity)},
      {"netdev", device.netdev},        {"rdma", device.rdma},
      {"gids", list_json(device.gids)}, {"addresses", device.addresses}};
  if (!device.managed_by.empty()) out["managed_by"] = device.managed_by;
  if (device.port_before) out["port_before"] = to_json(*device.port_before);
  if (device.port) out["port"] = to_json(*device.port);
  return out;
}

inline void read_restored(FieldReader& in, RestoredDevice& out) {
  in.text("alias", out.alias, limits::name_bytes);
  in.identity(out.identity);
  in.text("netdev", out.netdev, limits::netdev_bytes);
  in.text("rdma", out.rdma, limits::rdma_name_bytes);
  in.list("gids", out.gids, limits::gids, read_gid);
  in.texts("addresses", out.addresses, limits::addresses, limits::address_bytes);
  if (in.has("managed_by")) in.text("managed_by", out.managed_by, limits::name_bytes);
  in.optional_object("port_before", out.port_before, read_subnet_port);
  in.optional_object("port", out.port, read_subnet_port);
}

}  // namespace rdmove::protocol::inline parts
