// Announcer by a packet socket (ARP) and a raw ICMPv6 socket (neighbour advertisements).
#pragma once

#include "guestagent/agent/announcer.hpp"

namespace rdmove::agent {

class PacketAnnouncer final : public Announcer {
 public:
  void announce(const RestoredLink& link) override;
};

}  // namespace rdmove::agent
