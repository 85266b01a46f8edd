// Where scenarios run: hosts and guests, and how a command gets there. From a hosts file, or the lab as it is
// up now. Plain values, and calls that wait for their command.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "migration-tests/harness/process.hpp"

namespace rdmove::harness {

/// A shell script and where it runs.
struct Script {
  Words prefix;  ///< the script follows as one word: {"ssh", "root@hosta"}
  std::string text;

  [[nodiscard]] Words words() const;
};

struct Host {
  std::string name;     ///< as rdmoved.toml has it
  std::string address;  ///< on the network between the hosts
  Words prefix;
  std::string rdmove = "rdmove";
  std::string socket = "/run/rdmove/rdmoved.sock";
  std::string libvirt_uri = "qemu:///system";
  std::string state_dir = "/var/lib/rdmove";
  // Each with RDMOVE_STOP_AT in its environment, and the daemon must see it.
  Script start_daemon;
  Script stop_daemon;
  Script start_libvirtd;
  Script stop_libvirtd;
  std::string libvirtd_pid;  ///< a script that prints it
  // Empty texts: the host can't be made to vanish.
  Script power_off;
  Script power_on;

  [[nodiscard]] Script on(std::string text) const { return {prefix, std::move(text)}; }
  [[nodiscard]] std::string rdmoveWords() const { return rdmove + " --socket '" + socket + "' "; }
  [[nodiscard]] std::string virsh() const { return "virsh -q -c '" + libvirt_uri + "' "; }
};

struct Guest {
  std::string name;
  std::string address;  ///< on the fabric
  Words prefix;
  std::string start_agent = "systemctl start rdmove-agent";
  std::string stop_agent = "systemctl stop rdmove-agent";

  [[nodiscard]] Script in(std::string text) const { return {prefix, std::move(text)}; }
};

struct Site {
  std::vector<Host> hosts;  ///< two, between which VMs move
  std::map<std::string, Guest> guests;
  /// Makes this VM whole on the first host again, when a scenario has left it broken; empty: that is for
  /// people. NAME is put in place of "@VM@".
  Words remake;
  bool lab = false;
};

Ended run(const Script& script, std::chrono::milliseconds limit = std::chrono::seconds(30));
/// Its output without the last line break; "" when it failed.
std::string text(const Script& script, std::chrono::milliseconds limit = std::chrono::seconds(30));

Result<Site> readSite(const std::string& path);
Result<Site> parseSite(const std::string& text, const std::string& file_name);

/// The lab that RDMOVE_LAB names, which must be up. `tool` is migration-tests/lab.
Result<Site> labSite(const std::string& tool, const std::string& build);

}  // namespace rdmove::harness
