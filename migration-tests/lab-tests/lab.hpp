// The lab as a GoogleTest fixture: one lab for the whole test program, VMs as each test asks for them. What
// it says of hosts and guests comes from virsh, from inside the guests and from copies of the journals, never
// from rdmove.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.hpp"

namespace rdmove::lab {

using std::chrono::seconds;

class Lab : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  /// A test starts with vm1 whole on hosta and the peer on hostb, both hosts' libvirtd and rdmoved running;
  /// what an earlier one broke is made anew, and so is a vm1 of the other kind.
  void SetUp() override;
  void TearDown() override;
  /// Whether vm1 is a persistent domain in this test.
  virtual bool persistent() const { return true; }

  // Commands. `lab` is migration-tests/lab.
  static Outcome lab(std::vector<std::string> words, seconds limit = seconds(120));
  static Outcome on(const std::string& host, std::vector<std::string> words, seconds limit = seconds(60));
  static Outcome virsh(const std::string& host, std::vector<std::string> words);
  static Outcome guest(const std::string& vm, const std::string& command, seconds limit = seconds(30));
  static std::vector<std::string> rdmoveWords(const std::string& host, std::vector<std::string> words);
  static Outcome rdmove(const std::string& host, std::vector<std::string> words,
                        seconds limit = seconds(120));

  // What is.
  static std::string state(const std::string& host, const std::string& vm);  ///< "running", "" when absent
  static bool daemonRuns(const std::string& host);
  static bool transferring();  ///< libvirt itself says that vm1's transfer from hosta runs
  static nlohmann::json beat(const std::string& vm);  ///< rdma-beat's own status in that guest
  static std::string xml(const std::string& host, const std::string& vm, bool inactive = false);
  static std::string rdmaDevice(const std::string& xml);  ///< the element with the moving alias; "": none

  /// True within `limit`; looks every 100 ms, since what it asks has no event that reaches a test.
  static bool within(seconds limit, const std::function<bool()>& what);

  /// The invariants at rest, from outside: `vm` runs on `host` and nowhere else, has its device once with its
  /// MAC, alias and guest address, in the live XML and (persistent) in the definition; the guest has its
  /// address on a live RDMA device and reaches its peer; on neither host the journal has a lease, or an
  /// unfinished migration of this VM.
  static void expectWhole(const std::string& vm, const std::string& host, bool persistent = true);

  /// The RDMA CM session between vm1 and the peer (rdma-beat), started when it is not there.
  static void startBeat(const std::string& vm);
  static void expectBeatGoesOn(const std::string& vm);

  /// Restarts a host's daemon so that it stops itself (SIGSTOP) at a phase: "departure.Unplugging".
  static void stopDaemonAt(const std::string& host, const std::string& phase);
  static bool daemonIsStopped(const std::string& host);
  static void continueDaemon(const std::string& host);
  /// A host's daemon starts again with an empty journal.
  static void forgetMigrations(const std::string& host);
  static int daemonPid(const std::string& host);
};

}  // namespace rdmove::lab
