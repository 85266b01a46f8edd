// Keeps what is known of the pools' VFs current by events, and says what changed.
#include <fmt/format.h>

#include <map>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/inventory/vf_watch.hpp"

namespace rdmove::fabric {

std::vector<std::string> changesBetween(const std::vector<VfInfo>& before, const std::vector<VfInfo>& after) {
  std::map<VfName, const VfInfo*> old;
  for (const VfInfo& vf : before) old[vf.name] = &vf;
  const auto named = [](const VfInfo& vf) {
    return fmt::format("{} of pool {}", vf.name.str(), vf.pool.str());
  };
  std::vector<std::string> lines;
  for (const VfInfo& vf : after) {
    const auto known = old.find(vf.name);
    if (known == old.end()) {
      lines.push_back(named(vf) + " is there");
      continue;
    }
    const std::string& was = known->second->driver;
    if (was != vf.driver) {
      lines.push_back(fmt::format("{} has driver {}, before {}", named(vf),
                                  vf.driver.empty() ? "none" : vf.driver, was.empty() ? "none" : was));
    }
    old.erase(known);
  }
  for (const VfInfo& vf : before) {
    if (old.contains(vf.name)) lines.push_back(named(vf) + " is gone");
  }
  return lines;
}

VfChanges::VfChanges(Fabric& fabric, std::function<void(const std::string&)> tell)
    : fabric_(fabric), tell_(std::move(tell)) {}

void VfChanges::heard() {
  auto now = fabric_.vfs();
  const std::string trouble = now ? "" : now.error().sentence();
  if (trouble != trouble_ && !trouble.empty()) tell_(trouble);
  trouble_ = trouble;
  if (!now) return;
  if (vfs_) {
    for (const std::string& line : changesBetween(*vfs_, *now)) tell_(line);
  }
  vfs_ = std::move(*now);
}

namespace {

class EventWatch : public VfWatch {
 public:
  EventWatch(Fabric& fabric, std::function<void(const std::string&)> tell)
      : changes_(fabric, std::move(tell)) {}
  Result<void> start() {
    auto events = listenToDevices([this](const std::vector<DeviceEvent>&) { changes_.heard(); });
    if (!events) return tl::unexpected<Error>(events.error());
    events_ = std::move(*events);
    return {};
  }

 private:
  VfChanges changes_;
  std::unique_ptr<DeviceEvents> events_;  // last: its thread uses the others
};

}  // namespace
}  // namespace rdmove::fabric

namespace rdmove {

Result<std::unique_ptr<VfWatch>> watchVfs(Fabric& fabric, std::function<void(const std::string&)> tell) {
  auto watch = std::make_unique<fabric::EventWatch>(fabric, std::move(tell));
  if (auto started = watch->start(); !started) return tl::unexpected<Error>(started.error());
  return std::unique_ptr<VfWatch>(std::move(watch));
}

}  // namespace rdmove
