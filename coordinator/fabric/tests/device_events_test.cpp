#include "coordinator/fabric/inventory/device_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "coordinator/fabric/tests/own_network.hpp"

namespace rdmove::fabric {
namespace {

std::optional<DeviceEvent> parsed(const std::string& text) {
  return deviceEventOf(std::span<const char>(text.data(), text.size()));
}

std::string uevent(std::initializer_list<const char*> lines) {
  std::string text;
  for (const char* line : lines) text += std::string(line) + '\0';
  return text;
}

TEST(Uevents, of_functions_and_rdma_devices_are_understood) {
  EXPECT_EQ(parsed(uevent({"add@/devices/pci0000:3a/0000:3b:00.2", "ACTION=add",
                           "DEVPATH=/devices/pci0000:3a/0000:3b:00.2", "SUBSYSTEM=pci", "SEQNUM=7"})),
            (DeviceEvent{"add", "pci", "0000:3b:00.2"}));
  EXPECT_EQ(parsed(uevent({"x", "ACTION=remove", "DEVPATH=/devices/0000:3b:00.0/infiniband/mlx5_0",
                           "SUBSYSTEM=infiniband"})),
            (DeviceEvent{"remove", "infiniband", "mlx5_0"}));
}

TEST(Uevents, of_others_and_what_is_none_are_passed_over) {
  EXPECT_FALSE(parsed(uevent({"x", "ACTION=add", "DEVPATH=/devices/sda", "SUBSYSTEM=block"})));
  EXPECT_FALSE(parsed(uevent({"x", "DEVPATH=/devices/0000:3b:00.2", "SUBSYSTEM=pci"})));
  EXPECT_FALSE(parsed(uevent({"x", "ACTION=add", "SUBSYSTEM=pci"})));
  EXPECT_FALSE(parsed(""));
  EXPECT_FALSE(parsed(std::string("ACTION=add")));
}

/// Waits on another thread's words.
class Heard {
 public:
  HeardEvents listener() {
    return [this](const std::vector<DeviceEvent>& events) {
      const std::lock_guard lock(mutex_);
      ++calls_;
      all_.insert(all_.end(), events.begin(), events.end());
      changed_.notify_all();
    };
  }
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return condition(calls_, all_); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  std::vector<DeviceEvent> all_;
};

TEST(DeviceEventsTest, a_real_interface_is_heard_of_in_its_own_network_namespace) {
  const int wrong = inOwnNetwork([] {
    Heard heard;
    auto events = listenToDevices(heard.listener());
    if (!events) return 1;
    if (!heard.wait([](int calls, const auto&) { return calls > 0; })) return 2;
    if (std::system("ip link set lo up") != 0) return 3;
    const bool link = heard.wait([](int, const auto& all) {
      return std::find(all.begin(), all.end(), DeviceEvent{"link", "net", "lo"}) != all.end();
    });
    events->reset();  // joins its thread
    return link ? 0 : 4;
  });
  if (wrong == kNoNamespace) GTEST_SKIP() << "a network namespace needs root";
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rdmove::fabric
