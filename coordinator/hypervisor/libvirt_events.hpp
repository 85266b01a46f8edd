// libvirt's domain events as calls of our listener. Private to the libvirt_*.cpp files. Callbacks run on the
// event loop's thread; detach() may be called from any.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/hypervisor/libvirt_handles.hpp"

namespace rdmove {

/// The listener behind a lock: after detach() it is never called again, and no call is still in progress.
class EventSink {
 public:
  explicit EventSink(HypervisorListener& listener) : listener_(&listener) {}

  template <class Call>
  void tell(Call call) {
    const std::lock_guard lock(mutex_);
    if (listener_ != nullptr) call(*listener_);
  }

  void detach() {
    const std::lock_guard lock(mutex_);
    listener_ = nullptr;
  }

 private:
  std::recursive_mutex mutex_;  // recursive: a listener may drop the hypervisor
  HypervisorListener* listener_;
};

struct LifecycleEvent {
  Lifecycle event;
  LifecycleDetail detail;
};

/// virDomainEventType and its detail; nullopt for what we do not follow (PM suspend).
std::optional<LifecycleEvent> mapLifecycle(int event, int detail);

/// Registers all events of all domains. The ids are for deregisterEvents.
Result<std::vector<int>> registerEvents(virConnectPtr connection, const std::shared_ptr<EventSink>& sink);
void deregisterEvents(virConnectPtr connection, const std::vector<int>& ids);

}  // namespace rdmove
