// LeasedAddresses by rtnetlink.
#pragma once

#include "guestagent/agent/dhcp/leases.hpp"
#include "guestagent/agent/netlink_socket.hpp"

namespace rdmove::agent::dhcp {

class AddressTable final : public LeasedAddresses {
 public:
  AddressTable() : socket_(NETLINK_ROUTE) {}

  int extend(int index, const std::string& address, std::chrono::seconds lifetime) override;
  int replace(int index, const std::string& old, const Reply& lease) override;

 private:
  std::optional<Bytes> message_of(int index, const std::string& address);
  int send(int type, int flags, const Bytes& payload);
  std::vector<Bytes> default_routes(int index);
  void follow_router(const Bytes& route, const std::optional<Ipv4>& router);

  NetlinkSocket socket_;
};

}  // namespace rdmove::agent::dhcp
