#include "coordinator/hypervisor/libvirt_events.hpp"

#include <gtest/gtest.h>

namespace rdmove {
namespace {

struct Case {
  int event;
  int detail;
  Lifecycle mapped;
  LifecycleDetail mapped_detail;
};

TEST(MapLifecycle, keeps_the_details_that_decide) {
  using enum LifecycleDetail;
  const Case cases[] = {
      {VIR_DOMAIN_EVENT_DEFINED, VIR_DOMAIN_EVENT_DEFINED_ADDED, Lifecycle::kDefined,
       LifecycleDetail::kOther},
      {VIR_DOMAIN_EVENT_UNDEFINED, VIR_DOMAIN_EVENT_UNDEFINED_REMOVED, Lifecycle::kUndefined, kOther},
      {VIR_DOMAIN_EVENT_STARTED, VIR_DOMAIN_EVENT_STARTED_BOOTED, Lifecycle::kStarted, kOther},
      {VIR_DOMAIN_EVENT_STARTED, VIR_DOMAIN_EVENT_STARTED_MIGRATED, Lifecycle::kStarted, kMigrated},
      {VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_PAUSED, Lifecycle::kSuspended, kOther},
      {VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_MIGRATED, Lifecycle::kSuspended, kMigrated},
      {VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY, Lifecycle::kSuspended, kPostcopy},
      {VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY_FAILED, Lifecycle::kSuspended,
       kPostcopyFailed},
      {VIR_DOMAIN_EVENT_RESUMED, VIR_DOMAIN_EVENT_RESUMED_UNPAUSED, Lifecycle::kResumed, kOther},
      {VIR_DOMAIN_EVENT_RESUMED, VIR_DOMAIN_EVENT_RESUMED_MIGRATED, Lifecycle::kResumed, kMigrated},
      {VIR_DOMAIN_EVENT_RESUMED, VIR_DOMAIN_EVENT_RESUMED_POSTCOPY, Lifecycle::kResumed, kPostcopy},
      {VIR_DOMAIN_EVENT_RESUMED, VIR_DOMAIN_EVENT_RESUMED_POSTCOPY_FAILED, Lifecycle::kResumed,
       kPostcopyFailed},
      {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN, Lifecycle::kStopped, kOther},
      {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_MIGRATED, Lifecycle::kStopped, kMigrated},
      {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_FAILED, Lifecycle::kStopped, kFailed},
      {VIR_DOMAIN_EVENT_SHUTDOWN, 0, Lifecycle::kShutdown, kOther},
      {VIR_DOMAIN_EVENT_CRASHED, 0, Lifecycle::kCrashed, kOther},
  };
  for (const Case& each : cases) {
    const auto mapped = mapLifecycle(each.event, each.detail);
    ASSERT_TRUE(mapped) << each.event << ' ' << each.detail;
    EXPECT_EQ(mapped->event, each.mapped) << each.event << ' ' << each.detail;
    EXPECT_EQ(mapped->detail, each.mapped_detail) << each.event << ' ' << each.detail;
  }
}

TEST(MapLifecycle, leaves_out_what_is_not_followed) {
  EXPECT_FALSE(mapLifecycle(VIR_DOMAIN_EVENT_PMSUSPENDED, 0));
  EXPECT_FALSE(mapLifecycle(4711, 0));
}

}  // namespace
}  // namespace rdmove
