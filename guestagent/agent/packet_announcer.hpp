// Announcer by packet sockets: ARP and neighbour advertisements.
#pragma once

#include "guestagent/agent/announcer.hpp"

namespace rdmove::agent {

class PacketAnnouncer final : public Announcer {
 public:
  void announce(const RestoredLink& link) override;
};

}  // namespace rdmove::agent
