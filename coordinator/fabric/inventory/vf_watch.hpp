// What changed among the pools' VFs between two looks. Internal to the fabric; heard() is called on one
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/inventory/device_events.hpp"

namespace rdmove::fabric {

/// One line each, the new and the changed ones in their order, then those that are gone.
std::vector<std::string> changesBetween(const std::vector<VfInfo>& before, const std::vector<VfInfo>& after);

/// Looks again each time it hears of an event; the first look is what the next is compared with. A fabric
/// that cannot be looked at is told once, and its VFs are taken for what they were.
class VfChanges {
 public:
  VfChanges(Fabric& fabric, std::function<void(const std::string&)> tell);
  void heard();

 private:
  Fabric& fabric_;
  std::function<void(const std::string&)> tell_;
  std::optional<std::vector<VfInfo>> vfs_;
  std::string trouble_;
};

}  // namespace rdmove::fabric
