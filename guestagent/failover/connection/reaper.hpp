// Where things are taken down, away from the loop: rdma_destroy_qp can block for 50 s.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "guestagent/failover/connection/rdma_port.hpp"

namespace rdmove::failover::conn {

class Reaper {
 public:
  using Done = std::function<void()>;  ///< called on the loop
  virtual ~Reaper() = default;

  virtual void destroy(std::unique_ptr<Endpoint> endpoint, Done done) = 0;

  /// After its last endpoint: completion channel and PD, then the ids that kept the context alive until here.
  virtual void close(std::shared_ptr<Device> device, std::vector<std::unique_ptr<Endpoint>> pins,
                     Done done) = 0;
};

}  // namespace rdmove::failover::conn
