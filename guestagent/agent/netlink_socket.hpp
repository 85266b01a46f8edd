// A libnl-3 socket that asks and waits for the kernel's answer, as an RAII object. Internal to the netlink
// adapters.
#pragma once

#include <netlink/netlink.h>

#include <functional>
#include <memory>
#include <string>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

class NetlinkSocket {
 public:
  explicit NetlinkSocket(int protocol);  // throws std::runtime_error: without netlink there is no agent

  [[nodiscard]] nl_sock* get() const { return socket_.get(); }

  using OnMessage = std::function<void(const nlmsghdr& message)>;
  /// A dump request; `header` is the family's struct. 0 or an errno.
  int dump(int type, const Bytes& header, const OnMessage& on_message);
  /// A request for one thing: an answer, then the acknowledgement. Takes the message over. 0 or an errno.
  int get(nl_msg* message, const OnMessage& on_message);
  /// A request that is acknowledged. Takes the message over. 0 or an errno.
  int send(nl_msg* message);

 private:
  int ask(nl_msg* message, const OnMessage* on_message);
  int receive(const OnMessage* on_message);

  std::unique_ptr<nl_sock, decltype(&nl_socket_free)> socket_;
};

/// The payload of a message behind nlmsghdr.
Bytes payload_of(const nlmsghdr& message);

template <class Header>
Bytes header_bytes(const Header& header) {
  Bytes out(sizeof header);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(&header), sizeof header, out.begin());
  return out;
}

}  // namespace rdmove::agent
