// A packet socket that sends and receives network packets without their link header, on links with addresses
// of any length up to IPoIB's 20 bytes. Owner: who sends; loop thread. Never blocks.
#pragma once

#include <optional>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

class PacketSocket {
 public:
  /// `ether_type` in host order. Receives nothing yet. fd() is -1 and errno says why if there can be none.
  explicit PacketSocket(std::uint16_t ether_type);
  ~PacketSocket();
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  /// Receive from this interface UDP to this port only: soft-RoCE's traffic, which is UDP too, would be
  /// copied here packet by packet.
  bool receive_udp(int index, std::uint16_t port);

  /// False: errno says why.
  bool send(int index, const Bytes& to, const Bytes& packet);
  std::optional<Bytes> receive();  // none: nothing is there now

 private:
  std::uint16_t ether_type_;
  int fd_;
};

/// All ones where the link has said none.
Bytes broadcast_of(const RestoredLink& link);

}  // namespace rdmove::agent
