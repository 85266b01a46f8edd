// Says when an interface's addresses changed. Asked for only while somebody else is expected to set them:
// each of our own changes would be an event too. Implemented by AddressMonitor; faked in tests.
#pragma once

#include <functional>
#include <memory>

namespace rdmove::agent {

class AddressEvents {
 public:
  /// Destroying it ends the calls.
  class Watch {
   public:
    virtual ~Watch() = default;
  };

  virtual ~AddressEvents() = default;
  virtual std::unique_ptr<Watch> watch(std::function<void()> changed) = 0;
};

}  // namespace rdmove::agent
