// A device whose addresses somebody else puts back: waits for that until half of the restore's deadline.
// Owned by Restoration; loop thread.
#pragma once

#include "guestagent/agent/services.hpp"

namespace rdmove::agent {

class ManagedDevice {
 public:
  /// `look_again` is called when an address changed, and when the manager's time is over.
  ManagedDevice(Services& services, const CapturedDevice& captured, milliseconds until,
                const std::function<void()>& look_again);

  /// False: wait.
  bool look(const LinkInfo& link);

  [[nodiscard]] bool succeeded() const { return succeeded_; }
  [[nodiscard]] const std::string& missing() const { return missing_; }  // an address; after look()
  [[nodiscard]] const NetworkState::BroughtUp& restored() const { return restored_; }
  [[nodiscard]] std::string warning() const;

 private:
  bool find(const LinkInfo& link, const CapturedLink& captured);

  Services& services_;
  const CapturedDevice& captured_;
  milliseconds until_;
  std::unique_ptr<AddressEvents::Watch> watch_;
  std::unique_ptr<Timer> patience_;
  NetworkState::BroughtUp restored_;
  std::string missing_;
  bool succeeded_ = false;
};

}  // namespace rdmove::agent
