// A HypervisorListener that keeps what it is told as lines of text, and lets a test wait for one. Any thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"

namespace rdmove {

class RecordingListener : public HypervisorListener {
 public:
  void onLifecycle(const DomainUuid&, Lifecycle event, LifecycleDetail detail) override {
    add(fmt::format("lifecycle {} {}", static_cast<int>(event), static_cast<int>(detail)));
  }
  void onDeviceRemoved(const DomainUuid&, const DeviceAlias& alias) override {
    add("removed " + alias.str());
  }
  void onDeviceRemovalFailed(const DomainUuid&, const DeviceAlias& alias) override {
    add("removal-failed " + alias.str());
  }
  void onMigrationIteration(const DomainUuid&, int iteration) override {
    add(fmt::format("iteration {}", iteration));
  }
  void onJobCompleted(const DomainUuid&) override { add("job-completed"); }
  void onConnection(bool connected) override { add(connected ? "connected" : "disconnected"); }

  static std::string line(Lifecycle event, LifecycleDetail detail = LifecycleDetail::kOther) {
    return fmt::format("lifecycle {} {}", static_cast<int>(event), static_cast<int>(detail));
  }

  /// Consumes lines up to and with the first that equals `wanted`.
  bool waitFor(const std::string& wanted, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] {
      const auto found = std::find(lines_.begin(), lines_.end(), wanted);
      if (found == lines_.end()) return false;
      lines_.erase(lines_.begin(), found + 1);
      return true;
    });
  }

  std::size_t told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 protected:
  void add(std::string text) {
    {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::move(text));
      ++told_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  std::size_t told_ = 0;
};

}  // namespace rdmove
