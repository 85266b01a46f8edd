// What the InfiniBand fabric makes of a move, asked from the destination's host: looked at when a VF is
// leased, and again when the VM has its device. Only said, in the record: the VM runs and its device is
// whole. One migration's; a worker's thread, one call at a time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/fabric/subnet/moved_port.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove {

/// The subnet of a pool, freshly opened; nothing if the configuration names none (`subnet`).
using SubnetOpener = std::function<std::optional<Result<std::unique_ptr<Subnet>>>(const PoolName&)>;

class FabricWatch {
 public:
  explicit FabricWatch(SubnetOpener open) : open_(std::move(open)) {}

  /// What the SA knows of the VM's ports while they are still at the source, and of the ports of `others`: an
  /// SM that has lost its memory may renumber bystanders. What it does not know is not an error.
  void before(const Plan& plan, const std::vector<Guid>& others);
  /// What before() has learnt of the VM's ports, for the journal, and back: a daemon that is started anew
  /// finds them elsewhere already. A text that is not such is taken for nothing.
  [[nodiscard]] std::string remembered() const;
  void recall(const std::string& text);

  /// A sentence for each port of the plan that is in a subnet: it is known at its new place, or what is
  /// missing after `limit`; and one for each bystander with another LID than before.
  std::vector<std::string> after(const Plan& plan, std::chrono::milliseconds limit);

 private:
  std::string place(const VfDeclaration& vf, Subnet& subnet, std::chrono::milliseconds limit);

  SubnetOpener open_;
  std::map<std::string, KnownPort> known_;    // by alias
  std::map<std::string, LidBook> bystanders_;  // by alias: the subnet is its pool's
};

}  // namespace rdmove
