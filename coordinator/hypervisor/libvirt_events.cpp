#include "coordinator/hypervisor/libvirt_events.hpp"

#include <array>

namespace rdmove {
namespace {

using SinkHolder = std::shared_ptr<EventSink>;

EventSink& sinkOf(void* opaque) {
  return **static_cast<SinkHolder*>(opaque);
}
void freeHolder(void* opaque) {
  delete static_cast<SinkHolder*>(opaque);
}

DomainUuid uuidOf(virDomainPtr domain) {
  std::array<char, VIR_UUID_STRING_BUFLEN> text{};
  virDomainGetUUIDString(domain, text.data());
  return DomainUuid(text.data());
}

int onLifecycle(virConnectPtr, virDomainPtr domain, int event, int detail, void* opaque) noexcept {
  if (const auto mapped = mapLifecycle(event, detail)) {
    const DomainUuid uuid = uuidOf(domain);
    sinkOf(opaque).tell([&](HypervisorListener& l) { l.onLifecycle(uuid, mapped->event, mapped->detail); });
  }
  return 0;
}

void onRemoved(virConnectPtr, virDomainPtr domain, const char* alias, void* opaque) noexcept {
  sinkOf(opaque).tell([&](HypervisorListener& l) { l.onDeviceRemoved(uuidOf(domain), DeviceAlias(alias)); });
}

void onRemovalFailed(virConnectPtr, virDomainPtr domain, const char* alias, void* opaque) noexcept {
  sinkOf(opaque).tell(
      [&](HypervisorListener& l) { l.onDeviceRemovalFailed(uuidOf(domain), DeviceAlias(alias)); });
}

void onIteration(virConnectPtr, virDomainPtr domain, int iteration, void* opaque) noexcept {
  sinkOf(opaque).tell([&](HypervisorListener& l) { l.onMigrationIteration(uuidOf(domain), iteration); });
}

void onJobCompleted(virConnectPtr, virDomainPtr domain, virTypedParameterPtr, int, void* opaque) noexcept {
  sinkOf(opaque).tell([&](HypervisorListener& l) { l.onJobCompleted(uuidOf(domain)); });
}

LifecycleDetail suspendedDetail(int detail) {
  switch (detail) {
    case VIR_DOMAIN_EVENT_SUSPENDED_MIGRATED:
      return LifecycleDetail::kMigrated;
    case VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY:
      return LifecycleDetail::kPostcopy;
    case VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY_FAILED:
      return LifecycleDetail::kPostcopyFailed;
    default:
      return LifecycleDetail::kOther;
  }
}

LifecycleDetail resumedDetail(int detail) {
  switch (detail) {
    case VIR_DOMAIN_EVENT_RESUMED_MIGRATED:
      return LifecycleDetail::kMigrated;
    case VIR_DOMAIN_EVENT_RESUMED_POSTCOPY:
      return LifecycleDetail::kPostcopy;
    case VIR_DOMAIN_EVENT_RESUMED_POSTCOPY_FAILED:
      return LifecycleDetail::kPostcopyFailed;
    default:
      return LifecycleDetail::kOther;
  }
}

LifecycleDetail stoppedDetail(int detail) {
  switch (detail) {
    case VIR_DOMAIN_EVENT_STOPPED_MIGRATED:
      return LifecycleDetail::kMigrated;
    case VIR_DOMAIN_EVENT_STOPPED_FAILED:
      return LifecycleDetail::kFailed;
    default:
      return LifecycleDetail::kOther;
  }
}

}  // namespace

std::optional<LifecycleEvent> mapLifecycle(int event, int detail) {
  using enum Lifecycle;
  constexpr auto kOther = LifecycleDetail::kOther;
  switch (event) {
    case VIR_DOMAIN_EVENT_DEFINED:
      return LifecycleEvent{kDefined, kOther};
    case VIR_DOMAIN_EVENT_UNDEFINED:
      return LifecycleEvent{kUndefined, kOther};
    case VIR_DOMAIN_EVENT_STARTED:
      return LifecycleEvent{
          kStarted, detail == VIR_DOMAIN_EVENT_STARTED_MIGRATED ? LifecycleDetail::kMigrated : kOther};
    case VIR_DOMAIN_EVENT_SUSPENDED:
      return LifecycleEvent{kSuspended, suspendedDetail(detail)};
    case VIR_DOMAIN_EVENT_RESUMED:
      return LifecycleEvent{kResumed, resumedDetail(detail)};
    case VIR_DOMAIN_EVENT_STOPPED:
      return LifecycleEvent{kStopped, stoppedDetail(detail)};
    case VIR_DOMAIN_EVENT_SHUTDOWN:
      return LifecycleEvent{kShutdown, kOther};
    case VIR_DOMAIN_EVENT_CRASHED:
      return LifecycleEvent{kCrashed, kOther};
    default:
      return std::nullopt;
  }
}

Result<std::vector<int>> registerEvents(virConnectPtr connection, const std::shared_ptr<EventSink>& sink) {
  struct Entry {
    int id;
    virConnectDomainEventGenericCallback callback;
  };
  const std::array entries = {
      Entry{VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(onLifecycle)},
      Entry{VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(onRemoved)},
      Entry{VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, VIR_DOMAIN_EVENT_CALLBACK(onRemovalFailed)},
      Entry{VIR_DOMAIN_EVENT_ID_MIGRATION_ITERATION, VIR_DOMAIN_EVENT_CALLBACK(onIteration)},
      Entry{VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, VIR_DOMAIN_EVENT_CALLBACK(onJobCompleted)},
  };
  std::vector<int> ids;
  for (const Entry& entry : entries) {
    auto* holder = new SinkHolder(sink);
    const int id =
        virConnectDomainEventRegisterAny(connection, nullptr, entry.id, entry.callback, holder, freeHolder);
    if (id < 0) {
      auto error = libvirtFailure("follow libvirt's events");
      delete holder;
      deregisterEvents(connection, ids);
      return error;
    }
    ids.push_back(id);
  }
  return ids;
}

void deregisterEvents(virConnectPtr connection, const std::vector<int>& ids) {
  for (const int id : ids) virConnectDomainEventDeregisterAny(connection, id);
}

}  // namespace rdmove
