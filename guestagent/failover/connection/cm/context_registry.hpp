// Which loops hold which ibv_context. librdmacm has one for each device and the whole process: a loop that
// has taken all of its own down must leave it to those that have not, and the last one lets it go. Any
// thread; one in a process (process_wide.hpp).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "guestagent/failover/connection/cm/looking_thread.hpp"

namespace rdmove::failover::conn {

class ContextRegistry {
 public:
  struct Calls {
    /// librdmacm looks at all devices, opens those that have come and closes those that have left and are
    /// used by no id. False: there is none, and it has closed nothing.
    std::function<bool()> look;
    /// Only learns which devices there are; opens none.
    std::function<void()> meet;
    /// Another number when a device has come or left since; must cost little.
    std::function<std::uint64_t()> listing;
    /// The context's files lead nowhere from now on, so that the kernel's device can go.
    std::function<void(const ibv_context*)> replace_files;
  };

  explicit ContextRegistry(Calls calls) : calls_(std::move(calls)) {}

  /// Once for each loop that has something on the device.
  void hold(const ibv_context* context);
  /// That loop has nothing there any more; the device has not left, as far as it knows.
  void release(const ibv_context* context);
  /// The same, and the device has left. Whoever releases it last closes it.
  void let_go(const ibv_context* context);

  void look();

  /// To be held over each call in which librdmacm may look at devices by itself, which it does when one is
  /// new to it: by then that has been met on the thread for it, and nobody closes a context meanwhile.
  [[nodiscard]] std::unique_lock<std::mutex> meet_devices();

  /// While it is held, no other thread is in such a call.
  [[nodiscard]] std::unique_lock<std::mutex> between_calls() { return std::unique_lock(mutex_); }

 private:
  struct Entry {
    unsigned holders = 0;
    bool is_leaving = false;
  };
  bool look_there();
  void drop(const ibv_context* context, bool is_leaving);

  const Calls calls_;
  LookingThread thread_;
  std::mutex mutex_;
  std::map<const ibv_context*, Entry> contexts_;
  std::optional<std::uint64_t> met_;  // the listing of the last time
};

}  // namespace rdmove::failover::conn
