// Says when an RDMA device's GID table changed, by the kernel's own event. Implemented by VerbsGidEvents;
// faked in tests. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace rdmove::agent {

class GidEvents {
 public:
  /// Destroying it ends the calls, and closes the device: until then the agent itself holds it.
  class Watch {
   public:
    virtual ~Watch() = default;
  };

  virtual ~GidEvents() = default;

  /// None: the device cannot be opened; look again on a timer. A change before the call is not reported.
  virtual std::unique_ptr<Watch> watch(const std::string& rdma, std::function<void()> changed) = 0;
};

}  // namespace rdmove::agent
