#include "lab.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "migration-tests/harness/journal_copy.hpp"

namespace rdmove::lab {
namespace {

int vmNumber(const std::string& vm) {
  return vm.rfind("vm", 0) == 0 ? std::stoi(vm.substr(2)) : 100;
}
std::string addressOf(const std::string& vm) {
  return "10.77.0." + std::to_string(vmNumber(vm));
}
std::string macOf(const std::string& vm) {
  char text[18];
  snprintf(text, sizeof(text), "52:54:00:77:00:%02x", static_cast<unsigned>(vmNumber(vm)));
  return text;
}

std::string uuidOf(const std::string& vm) {
  char text[37];
  snprintf(text, sizeof(text), "52540077-0000-4000-8000-%012x", static_cast<unsigned>(vmNumber(vm)));
  return text;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// Takes the lab down when the test program ends, however it ends.
class Teardown : public ::testing::Environment {
 public:
  void TearDown() override { run({RDMOVE_LAB_COMMAND, "down"}); }
};
[[maybe_unused]] const auto* teardown = ::testing::AddGlobalTestEnvironment(new Teardown);

int occurrences(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::filesystem::path stateDir(const std::string& host) {
  return std::filesystem::path("/run/rdmove-lab") / getenv("RDMOVE_LAB") / "host" / host / "var/lib/rdmove";
}

/// "" when no lease and no unfinished migration of `vm` is in that host's journal; else what is there.
std::string leftInJournal(const std::string& host, const std::string& vm) {
  const auto rows = harness::readJournalCopy(stateDir(host), uuidOf(vm));
  if (!rows) return "the copy of the journal cannot be read";
  std::string text;
  for (const std::string& lease : rows->leases) text += "lease " + lease + "\n";
  for (const std::string& row : rows->unfinished) text += "unfinished " + row + "\n";
  return text;
}

}  // namespace

void Lab::SetUpTestSuite() {
  setenv("RDMOVE_LAB", "check", 0);
  setenv("RDMOVE_BUILD", RDMOVE_BUILD_DIR, 0);
  const Outcome up = lab({"up"}, seconds(400));
  ASSERT_EQ(up.status, 0) << up.output;
}

void Lab::SetUp() {
  for (const char* host : {"hosta", "hostb"}) {
    lab({"libvirtd", "start", host});
    if (daemonIsStopped(host)) continueDaemon(host);
    if (!daemonRuns(host)) {
      const Outcome started = lab({"daemon", "start", host});
      ASSERT_EQ(started.status, 0) << started.output;
    }
  }
  const std::string kind = std::string("Persistent:     ") + (persistent() ? "yes" : "no");
  const bool there = state("hosta", "vm1") == "running" && state("hostb", "vm1").empty() &&
                     virsh("hosta", {"dominfo", "vm1"}).output.find(kind) != std::string::npos &&
                     occurrences(xml("hosta", "vm1"), "name='ua-rdma0'") == 1 &&
                     guest("vm1", "rdma link show rxe0/1").status == 0;
  const auto left = [](const char* host) { return !leftInJournal(host, "vm1").empty(); };
  if (there && !left("hosta") && !left("hostb")) return;
  for (const char* host : {"hosta", "hostb"}) {
    lab({"vm", "destroy", std::string("vm1@") + host});
    if (left(host)) forgetMigrations(host);
  }
  const Outcome started = lab({"vm", "start", persistent() ? "vm1@hosta" : "vm1@hosta:transient"});
  ASSERT_EQ(started.status, 0) << started.output;
}

void Lab::TearDown() {
  if (!HasFailure()) return;
  // What a reader of a failed run needs.
  for (const char* host : {"hosta", "hostb"}) {
    if (daemonIsStopped(host)) continueDaemon(host);
    std::cerr << "--- " << host << "\n"
              << virsh(host, {"list", "--all"}).output << rdmove(host, {"list"}).output
              << on(host, {"tail", "-n", "30", "/var/log/rdmove/rdmoved.log"}).output;
  }
  std::cerr << "--- agent in vm1\n"
            << guest("vm1", "tail -n 20 /var/log/rdmove-agent.log; rdma link; ip -br addr").output;
}

Outcome Lab::lab(std::vector<std::string> words, seconds limit) {
  words.insert(words.begin(), RDMOVE_LAB_COMMAND);
  return run(words, limit);
}

Outcome Lab::on(const std::string& host, std::vector<std::string> words, seconds limit) {
  std::vector<std::string> all = {RDMOVE_LAB_COMMAND, "shell", host, "--"};
  all.insert(all.end(), words.begin(), words.end());
  return run(all, limit);
}

Outcome Lab::virsh(const std::string& host, std::vector<std::string> words) {
  words.insert(words.begin(), {"virsh", "-q"});
  return on(host, words);
}

Outcome Lab::guest(const std::string& vm, const std::string& command, seconds limit) {
  return run({RDMOVE_LAB_COMMAND, "guest", vm, "--timeout", std::to_string(limit.count()), "--", command},
             limit + seconds(15));
}

std::vector<std::string> Lab::rdmoveWords(const std::string& host, std::vector<std::string> words) {
  std::vector<std::string> all = {RDMOVE_LAB_COMMAND, "shell", host, "--",
                                  RDMOVE_BUILD_DIR "/coordinator/rdmove"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Outcome Lab::rdmove(const std::string& host, std::vector<std::string> words, seconds limit) {
  return run(rdmoveWords(host, std::move(words)), limit);
}

std::string Lab::state(const std::string& host, const std::string& vm) {
  const Outcome outcome = virsh(host, {"domstate", vm});
  return outcome.status == 0 ? trimmed(outcome.output) : "";
}

std::string Lab::xml(const std::string& host, const std::string& vm, bool inactive) {
  std::vector<std::string> words = {"dumpxml", vm};
  if (inactive) words.emplace_back("--inactive");
  return virsh(host, words).output;
}

std::string Lab::rdmaDevice(const std::string& xml) {
  static const std::regex interface("<interface[^>]*>[\\s\\S]*?</interface>");
  for (std::sregex_iterator it(xml.begin(), xml.end(), interface), end; it != end; ++it) {
    if (it->str().find("name='ua-rdma0'") != std::string::npos) return it->str();
  }
  return "";
}

nlohmann::json Lab::beat(const std::string& vm) {
  return nlohmann::json::parse(guest(vm, "cat /run/rdma-beat.json").output, nullptr, false);
}

bool Lab::within(seconds limit, const std::function<bool()>& what) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!what()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    usleep(100000);
  }
  return true;
}

void Lab::expectWhole(const std::string& vm, const std::string& host, bool persistent) {
  const std::string other = host == "hosta" ? "hostb" : "hosta";
  EXPECT_EQ(state(host, vm), "running");
  EXPECT_EQ(state(other, vm), "") << vm << " is defined or running on " << other << " too";

  for (const bool inactive : {false, true}) {
    if (inactive && !persistent) continue;
    const std::string text = xml(host, vm, inactive);
    SCOPED_TRACE(inactive ? "persistent definition" : "live XML");
    EXPECT_EQ(occurrences(text, "name='ua-rdma0'"), 1);
    const std::string device = rdmaDevice(text);
    EXPECT_NE(device.find(macOf(vm)), std::string::npos) << device;
    EXPECT_NE(device.find("bridge='br0'"), std::string::npos) << device;
    EXPECT_NE(device.find("bus='0x06' slot='0x00' function='0x0'"), std::string::npos) << device;
  }
  const std::string info = virsh(host, {"dominfo", vm}).output;
  EXPECT_NE(info.find(persistent ? "Persistent:     yes" : "Persistent:     no"), std::string::npos) << info;

  const Outcome inside =
      guest(vm, "ip -br addr; rdma link; ping -c1 -w5 10.77.0." + std::string(vm == "peer" ? "1" : "100"));
  EXPECT_NE(inside.output.find(addressOf(vm) + "/24"), std::string::npos) << inside.output;
  EXPECT_NE(inside.output.find("link rxe0/1 state ACTIVE"), std::string::npos) << inside.output;
  EXPECT_EQ(inside.status, 0) << "the peer is not reached: " << inside.output;

  for (const char* each : {"hosta", "hostb"}) {
    std::string left;
    EXPECT_TRUE(within(seconds(3), [&] { return (left = leftInJournal(each, vm)).empty(); }))
        << "in the journal of " << each << ": " << left;
  }
}

void Lab::startBeat(const std::string& vm) {
  if (guest("peer", "pidof rdma-beat").status != 0)
    guest("peer", "rdma-beat server --port 7000 >/var/log/beat.log 2>&1 &");
  if (guest(vm, "pidof rdma-beat").status != 0) {
    guest(vm, "rdma-beat client 10.77.0.100 --port 7000 >/var/log/beat.log 2>&1 &");
  }
  expectBeatGoesOn(vm);
}

void Lab::expectBeatGoesOn(const std::string& vm) {
  const auto count = [&] { return beat(vm).value("echoed", 0); };
  const int before = count();
  EXPECT_TRUE(within(seconds(30), [&] { return count() > before + 20; }))
      << "the RDMA session of " << vm
      << " does not flow: " << guest(vm, "tail -n 20 /var/log/beat.log").output;
  EXPECT_EQ(beat(vm).value("errors", -1), 0) << beat(vm).dump();
}

int Lab::daemonPid(const std::string& host) {
  const auto status = nlohmann::json::parse(lab({"status", "--json"}).output, nullptr, false);
  if (status.is_discarded()) return 0;
  for (const auto& entry : status["hosts"]) {
    if (entry["name"] == host && entry["rdmoved"].is_number()) return entry["rdmoved"];
  }
  return 0;
}

bool Lab::daemonRuns(const std::string& host) {
  return daemonPid(host) != 0;
}

void Lab::forgetMigrations(const std::string& host) {
  lab({"daemon", "kill", host});
  const Outcome forgotten = on(host, {"sh", "-c", "rm -f /var/lib/rdmove/journal.db*"});
  ASSERT_EQ(forgotten.status, 0) << forgotten.output;
  const Outcome started = lab({"daemon", "start", host});
  ASSERT_EQ(started.status, 0) << started.output;
  ASSERT_TRUE(within(seconds(20), [&] { return rdmove(host, {"list"}).status == 0; }));
}

bool Lab::transferring() {
  return virsh("hosta", {"domjobinfo", "vm1"}).output.find("Outgoing migration") != std::string::npos;
}

void Lab::stopDaemonAt(const std::string& host, const std::string& phase) {
  lab({"daemon", "stop", host});
  setenv("RDMOVE_STOP_AT", phase.c_str(), 1);
  const Outcome started = lab({"daemon", "start", host});
  unsetenv("RDMOVE_STOP_AT");
  ASSERT_EQ(started.status, 0) << started.output;
}

bool Lab::daemonIsStopped(const std::string& host) {
  std::ifstream stat("/proc/" + std::to_string(daemonPid(host)) + "/stat");
  std::string text;
  std::getline(stat, text);
  const auto end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] == 'T';
}

void Lab::continueDaemon(const std::string& host) {
  kill(daemonPid(host), SIGCONT);
}

}  // namespace rdmove::lab
