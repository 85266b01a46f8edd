// The AgentLinks of agent_link.hpp over the hypervisor's byte channels. Made once by the daemon; loop thread
// only. `workers` is joined before the hypervisor goes: opening a channel blocks, and is done there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <memory>

#include "coordinator/agentlink/agent_link.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"

namespace rdmove {

struct AgentLinkLimits {
  std::chrono::milliseconds grace{5000};        ///< prepare and restore: beyond the agent's own deadline
  std::chrono::milliseconds first_backoff{50};  ///< between tries to open; doubles
  std::chrono::milliseconds longest_backoff{1000};
  std::chrono::milliseconds conflict{
      2000};  ///< a taken port is tried so long: our own last close may be under way
  std::chrono::milliseconds hello_again{1000};  ///< no answer to hello: said again
  int lines_per_second = 1000;             ///< more is a flood: the channel is closed and opened again later
  std::size_t pending_bytes = 256 * 1024;  ///< of the guest, not yet looked at by the loop
};

std::unique_ptr<AgentLinks> makeAgentLinks(Hypervisor& hypervisor, boost::asio::io_context& loop,
                                           boost::asio::thread_pool& workers, AgentLinkLimits limits = {});

}  // namespace rdmove
