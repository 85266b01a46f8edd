// The registered applications, as the logic sees them. Implemented by ApplicationHub; faked in tests.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/types.hpp"

namespace rdmove::agent {

class Applications {
 public:
  virtual ~Applications() = default;

  virtual std::size_t count() const = 0;
  virtual std::vector<std::int32_t> pids() const = 0;
  virtual std::vector<protocol::ApplicationInfo> list() const = 0;  // by pid

  /// Asks all to let go, and those too that register until resume() or ready(). `on_all_released` is called
  /// once, maybe within the call, when everyone asked has answered or left; never after resume() or ready().
  virtual void quiesce(const protocol::MigrationId& migration, std::chrono::milliseconds deadline,
                       std::function<void()> on_all_released) = 0;
  virtual std::vector<protocol::Holdout> unreleased() const = 0;  // device is left empty
  virtual std::vector<std::int32_t> released() const = 0;

  virtual void removed() = 0;
  virtual void resume() = 0;
  virtual void ready(const protocol::MigrationId& migration, const std::vector<std::string>& addresses) = 0;
};

}  // namespace rdmove::agent
