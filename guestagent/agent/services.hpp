// Everything that the logic acts through, handed in by reference by main() or by a test.
#pragma once

#include "guestagent/agent/address_events.hpp"
#include "guestagent/agent/announcer.hpp"
#include "guestagent/agent/applications.hpp"
#include "guestagent/agent/capture.hpp"
#include "guestagent/agent/dhcp/leases.hpp"
#include "guestagent/agent/gid_events.hpp"
#include "guestagent/agent/managers.hpp"
#include "guestagent/agent/network_state.hpp"
#include "guestagent/agent/processes.hpp"
#include "guestagent/agent/rdma_links.hpp"
#include "guestagent/agent/rdma_settings.hpp"
#include "guestagent/agent/timers.hpp"

namespace rdmove::agent {

struct Services {
  NetworkState& network;
  RdmaLinks& rdma;
  Processes& processes;
  Applications& applications;
  Announcer& announcer;
  Timers& timers;
  CaptureStore& store;
  Managers& managers;
  AddressEvents& address_events;
  Leases& leases;
  RdmaSettings& rdma_settings;
  GidEvents& gid_events;
};

}  // namespace rdmove::agent
