// Everything that the logic acts through, handed in by reference by main() or by a test.
#pragma once

#include "guestagent/agent/announcer.hpp"
#include "guestagent/agent/applications.hpp"
#include "guestagent/agent/capture.hpp"
#include "guestagent/agent/network_state.hpp"
#include "guestagent/agent/processes.hpp"
#include "guestagent/agent/rdma_links.hpp"
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
};

}  // namespace rdmove::agent
