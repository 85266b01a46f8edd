// Looks at hosts, guests and load and makes a View of it. Each look is a few commands on the host or in the
// guest; none goes through rdmoved but `rdmove vf list`.
#pragma once

#include <cstdint>
#include <map>

#include "migration-tests/harness/site.hpp"
#include "migration-tests/harness/view.hpp"

namespace rdmove::harness {

/// The domain's live XML, "" when there is no such domain.
std::string liveXml(const Host& host, const std::string& vm);
std::string domainState(const Host& host, const std::string& vm);

/// How much each host's console log has: ticks are counted from there.
using ConsoleMarks = std::map<std::string, std::uint64_t>;
ConsoleMarks markConsoles(const Site& site, const std::string& console);

struct LookAt {
  const Host* host;
  std::string vm;
  std::string uuid;
  std::set<std::string> aliases;
  std::string console;         ///< its log; "" when it has none
  std::uint64_t console_from;  ///< bytes
};
HostView look(const LookAt& at);

/// `devices` say which of the guest's interfaces to look at.
GuestView lookInside(const Guest& guest, const Devices& devices);

/// Journal rows of one host, by a copy of its files; tried again while the daemon writes.
void readJournal(const Host& host, const std::string& uuid, HostView& view);

}  // namespace rdmove::harness
