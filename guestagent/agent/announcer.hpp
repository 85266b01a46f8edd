// Tells the neighbours (switches and hosts) where our addresses are now. Implemented by PacketAnnouncer.
#pragma once

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent {

class Announcer {
 public:
  virtual ~Announcer() = default;

  /// Gratuitous ARP, as request and as reply (some stacks take only one of them), and unsolicited neighbour
  /// advertisements. Best effort: what fails is logged.
  virtual void announce(const RestoredLink& link) = 0;
};

}  // namespace rdmove::agent
