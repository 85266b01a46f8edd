#include "guestagent/failover/connection/cm/context_registry.hpp"

namespace rdmove::failover::conn {

void ContextRegistry::hold(const ibv_context* context) {
  const std::lock_guard lock(mutex_);
  ++contexts_[context].holders;
}

void ContextRegistry::release(const ibv_context* context) {
  const std::lock_guard lock(mutex_);
  drop(context, false);
}

void ContextRegistry::let_go(const ibv_context* context) {
  const std::lock_guard lock(mutex_);
  drop(context, true);
}

// With no other device librdmacm returns before it closes anything, and the kernel's device waits for us
// ("waiting for eth1 to become free"). Its files are replaced under it then; it closes the replacements when
// it finds another device. Others' queue pairs would lose the device before they have been taken down: they
// come here themselves.
void ContextRegistry::drop(const ibv_context* context, bool is_leaving) {
  const auto place = contexts_.find(context);
  if (place == contexts_.end()) return;
  place->second.is_leaving = place->second.is_leaving || is_leaving;
  const bool is_last = --place->second.holders == 0;
  const bool has_left = place->second.is_leaving;
  if (is_last) contexts_.erase(place);
  if (!has_left) return;
  if (!look_there() && is_last) calls_.replace_files(context);
}

void ContextRegistry::look() {
  const std::lock_guard lock(mutex_);
  (void)look_there();
}

bool ContextRegistry::look_there() {
  bool are_there = false;
  thread_.run([&] { are_there = calls_.look(); });
  return are_there;
}

std::unique_lock<std::mutex> ContextRegistry::meet_devices() {
  std::unique_lock lock(mutex_);
  const auto listing = calls_.listing();
  if (met_ == listing) return lock;
  thread_.run(calls_.meet);
  met_ = listing;
  return lock;
}

}  // namespace rdmove::failover::conn
