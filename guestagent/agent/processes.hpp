// Who holds RDMA devices open. Implemented by ProcScan; faked in tests.
#pragma once

#include <string>
#include <vector>

#include "guestagent/protocol/types.hpp"

namespace rdmove::agent {

class Processes {
 public:
  virtual ~Processes() = default;

  /// One entry per process and device. No names: all devices.
  virtual std::vector<protocol::Holdout> holding(const std::vector<std::string>& rdma_names) = 0;

  /// Those with a completion or event channel that outlived its context: the kernel does not say of which
  /// device; nor of which an orphaned node was. Names who a hanging removal waits for.
  virtual std::vector<protocol::Holdout> holding_a_channel() = 0;
};

}  // namespace rdmove::agent
