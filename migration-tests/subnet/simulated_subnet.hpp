// An InfiniBand subnet for tests: ibsim's fabric, a real OpenSM, and programs that use libibumad on its
// hosts. Management datagrams only, there is no data path. Needs no root and no hardware; several can be up
// at once. Everything is in a folder of its own under the system's temporary one, and ends with the object.
// One thread.
//
//   if (const auto why = SimulatedSubnet::why_not()) GTEST_SKIP() << *why;
//   SimulatedSubnet subnet({.topology = Topology::star({"sm", "hosta", "hostb"})});
//   subnet.clear({"hosta", 1});                               // pull the cable
//   const auto before = subnet.log_end();
//   subnet.link({"hosta", 1}, {"SW1", 6});                    // plug it in elsewhere
//   subnet.wait_for_log("SUBNET UP", before);
//   subnet.run("hostb", {"saquery", "PR"});
//
// What it cannot do (ibsim 0.10): a program is always at port 1 of its host; at most 9 programs at a time,
// OpenSM among them; no RMPP, so a long SA table comes cut; reports, traps and CM messages reach no program
// but the subnet manager.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "migration-tests/subnet/child.hpp"
#include "migration-tests/subnet/log_file.hpp"
#include "migration-tests/subnet/topology.hpp"

namespace rdmove::subnet {

struct SubnetOptions {
  Topology topology{};
  std::string manager_host = "sm";  ///< where OpenSM runs
  std::string manager_options{};    ///< lines of opensm.conf, on top of ours
  std::string partitions{};         ///< partitions.conf; OpenSM's default partition if empty
  bool starts_manager = true;       ///< and waits until the subnet is up
};

struct Outcome {
  int status = -1;
  std::string output;  ///< standard output and error
};

class SimulatedSubnet {
 public:
  /// Which program is missing, and the package that has it; nothing if all are there.
  static std::optional<std::string> why_not();

  /// Throws std::runtime_error with what the programs said if the subnet does not come up.
  explicit SimulatedSubnet(const SubnetOptions& options);
  ~SimulatedSubnet();
  SimulatedSubnet(const SimulatedSubnet&) = delete;
  SimulatedSubnet& operator=(const SimulatedSubnet&) = delete;

  // Cables and GUIDs, as ibsim's console has them. Throws std::runtime_error with its words when it does not
  // take them.
  void link(const End& one, const End& other);
  /// Pulls the cable and resets the port: it loses its LID.
  void clear(const End& end);
  /// Pulls the cable; the port keeps its state. relink() puts the cable back.
  void unlink(const End& end);
  void relink(const End& end);
  /// The GUID of a host's port 1, and of the host's adapter. Take the cable out first; read back, and thrown
  /// about if it did not take. ibsim knows the port by the name that Topology gives it, which costs one of
  /// the adapter's port lines: a host whose ports are all linked cannot do this.
  void set_port_guid(const std::string& host, std::uint64_t guid);
  void set_node_guid(const std::string& host, std::uint64_t guid);
  /// Any command of the console; at most 126 characters. Its answer, without the prompt.
  std::string console(const std::string& command);

  // OpenSM.
  void start_manager();
  /// forgets: its files too (which LID is whose), as when another subnet manager takes over.
  void stop_manager(bool forgets = false);
  [[nodiscard]] std::size_t log_end() const { return log_.end(); }
  [[nodiscard]] std::string log_since(std::size_t from) const { return log_.since(from); }
  /// The first line of OpenSM's log after `from` that has `text` in it.
  std::string wait_for_log(const std::string& text, std::size_t from,
                           std::chrono::milliseconds limit = std::chrono::seconds(30)) const {
    return log_.wait_for(text, from, limit);
  }

  // Programs on a host.
  Outcome run(const std::string& host, const std::vector<std::string>& words,
              std::chrono::milliseconds limit = std::chrono::seconds(30));
  std::unique_ptr<Child> start(const std::string& host, const std::vector<std::string>& words);
  /// What a program needs in its environment to be on that host. libibumad then finds the simulated adapter.
  [[nodiscard]] std::vector<std::string> environment(const std::string& host) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  void command(const std::string& line);
  void detach_ended();

  SubnetOptions options_;
  std::filesystem::path folder_;
  std::string socket_name_;
  LogFile log_;
  std::unique_ptr<Child> fabric_;
  std::unique_ptr<Child> manager_;
};

}  // namespace rdmove::subnet
