// What runs in the guests while a VM moves: rdmove-ping between the VM and its peer, which checks every byte
// at both ends, and a tick on the VM's console every 20 ms, by which the hosts' console logs show where it
// ran.
#pragma once

#include <initializer_list>

#include "migration-tests/harness/scenario.hpp"
#include "migration-tests/harness/site.hpp"
#include "migration-tests/harness/view.hpp"

namespace rdmove::harness {

class LoadRun {
 public:
  LoadRun(const Guest& vm, const Guest& peer, Load load) : vm_(vm), peer_(peer), load_(load) {}

  /// What runs already and is clean goes on. "" or what is wrong; else client() is how it was then.
  std::string start();
  /// All connections are up, and each has had a message since this was called; client() is how it was then.
  bool flows(std::chrono::seconds limit);
  [[nodiscard]] const LoadView& client() const { return client_; }
  [[nodiscard]] LoadView server() const { return loadIn(peer_, {kPing}); }

 private:
  static constexpr const char* kPing = "failover-ping";
  static constexpr const char* kTicks = "failover-ticks";

  /// Without an answer when one of these programs of ours does not run there.
  static LoadView loadIn(const Guest& guest, std::initializer_list<const char*> programs);
  bool goesOn();
  bool look();

  const Guest& vm_;
  const Guest& peer_;
  Load load_;
  LoadView client_;
};

}  // namespace rdmove::harness
