// What is, looked at from outside: virsh, the guest, copies of the journals, what the load counted. Of
// rdmove's own words only the lists of VFs, which are held against the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdmove::harness {

/// A device in a domain's XML, found by its alias.
struct DeviceView {
  int count = 0;
  std::string identity;       ///< its MAC; empty: a plain hostdev
  std::string guest_address;  ///< "0000:06:00.0"

  friend bool operator==(const DeviceView&, const DeviceView&) = default;
};
using Devices = std::map<std::string, DeviceView>;  ///< by alias

struct VfView {
  std::string name;
  std::string state;   ///< free, leased, attached, claimed, busy
  std::string domain;  ///< who has it
};

struct HostView {
  std::string name;
  std::string state;  ///< virsh domstate: "running", "paused", "shut off"; "" when there is no such domain
  bool persistent = false;
  std::string metadata;  ///< the rdma element; "" when there is none
  Devices live;
  Devices defined;  ///< in the definition, of a persistent domain
  std::vector<std::string> leases;
  std::vector<std::string> unfinished;
  std::vector<VfView> vfs;
  bool journal_read = false;
  std::set<long> ticks;  ///< those of the guest's console since the scenario began

  [[nodiscard]] bool runs() const { return state == "running"; }
};

struct GuestView {
  bool answers = false;
  std::set<std::string> addresses;  ///< of the devices that move: "52:54:00:77:00:01 10.77.0.1/24"
  bool rdma_active = false;
};

struct LoadView {
  bool answers = false;
  std::uint64_t connections = 0;
  std::uint64_t up = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t longest_blackout_us = 0;
};

struct View {
  HostView source;
  HostView destination;
  GuestView guest;
  LoadView load;
  LoadView peer_load;
};

/// Devices of a domain's XML under these aliases, each in the result.
Devices devicesOf(const std::string& domain_xml, const std::set<std::string>& aliases);

/// The aliases that the rdma element in a domain's metadata names.
std::set<std::string> movingAliases(const std::string& domain_xml);

/// The rdma element itself, written in one way; "" when there is none.
std::string rdmaMetadata(const std::string& domain_xml);

/// Where the domain's console is written to on its host; "" when nowhere.
std::string consoleLog(const std::string& domain_xml);

/// N of each whole line "tick N".
std::set<long> ticksOf(const std::string& console);

/// rdmove-ping's state file: its first line counts for all connections.
LoadView loadOf(const std::string& status_file);

}  // namespace rdmove::harness
