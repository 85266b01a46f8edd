// What of the adapters at both ends of a move differs so that the VM would notice. None of it keeps a VM from
// moving, so all are warnings. Pure, any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/types.hpp"
#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/preflight/finding.hpp"

namespace rdmove {

/// What a device of the VM is a VF of, at the source.
struct Adapter {
  DeviceAlias alias;
  std::string driver;
  std::string firmware;    ///< empty: its driver does not tell
  std::optional<int> mtu;  ///< bytes
  std::optional<int> speed_mbit;
  std::string pfc;  ///< as PfInfo has them
  std::string ets;
};

/// What a source tells of itself when it asks whether its VM may come.
struct SourceFacts {
  std::vector<Adapter> adapters;
  std::optional<std::chrono::system_clock::time_point> clock;
  GuestMachine machine;  ///< empty: not told
};

Adapter adapterOf(const DeviceAlias& alias, const PfInfo& pf);

/// Codes: other-driver, other-firmware, smaller-mtu, slower-link, other-pfc, other-ets.
std::vector<Finding> compareAdapters(const Adapter& source, const PfInfo& here, const std::string& host);

/// Code: clocks. Both hosts' times stand side by side in every timeline.
std::vector<Finding> compareClocks(std::chrono::system_clock::time_point source,
                                   std::chrono::system_clock::time_point here, const std::string& host);

}  // namespace rdmove
