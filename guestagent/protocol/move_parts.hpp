// A restored device to and from JSON, for `restore` and `ready`. Internal to the protocol's .cpp files.
#pragma once

#include "guestagent/protocol/json_parts.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove::protocol::inline parts {

inline nlohmann::json to_json(const RestoredDevice& device) {
  return {{"alias", device.alias}, {"mac", device.mac.text()},       {"netdev", device.netdev},
          {"rdma", device.rdma},   {"gids", list_json(device.gids)}, {"addresses", device.addresses}};
}

inline void read_restored(FieldReader& in, RestoredDevice& out) {
  in.text("alias", out.alias, limits::name_bytes);
  in.mac("mac", out.mac);
  in.text("netdev", out.netdev, limits::netdev_bytes);
  in.text("rdma", out.rdma, limits::rdma_name_bytes);
  in.list("gids", out.gids, limits::gids, read_gid);
  in.texts("addresses", out.addresses, limits::addresses, limits::address_bytes);
}

}  // namespace rdmove::protocol::inline parts
