// The JSON texts in the journal's rows of an evacuation (docs/journal.md): what was asked for, what a VM
// needs, what was tried with it before. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "coordinator/evacuation/plan.hpp"
#include "coordinator/evacuation/request.hpp"

namespace rdmove::evacuation {

/// A migration of the VM that led nowhere before the newest one.
struct Try {
  HostName destination;
  MigrationId migration;
  std::string reason;
  bool full = false;  ///< the destination had no room: it is not tried again
  bool operator==(const Try&) const = default;
};

std::string toJson(const Request& request);
Result<Request> requestFromJson(const std::string& text);

/// Without the VM's own name and UUID, which are columns.
std::string needToJson(const Need& need);
Result<Need> needFromJson(const std::string& text);

std::string triesToJson(const std::vector<Try>& tries);
/// An empty text is none.
Result<std::vector<Try>> triesFromJson(const std::string& text);

}  // namespace rdmove::evacuation
