// The main job on real parts: there and back, two at once, transient, and a daemon that is killed on the way.
#include <map>
#include <set>

#include "lab.hpp"

namespace rdmove::lab {
namespace {

class MainJob : public Lab {
 protected:
  static nlohmann::json asked(const std::string& host, const std::string& query) {
    const Outcome outcome = rdmove(host, {"agent", "vm1", query, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return nlohmann::json::parse(outcome.output, nullptr, false);
  }
  /// rxe0's packets in both directions.
  static std::uint64_t packets(const std::string& host) {
    const auto counters = asked(host, "counters");
    for (const auto& device : counters.at("devices")) {
      const auto& traffic = device.at("traffic");
      if (device.at("rdma") == "rxe0")
        return traffic.value("packets_in", 0UL) + traffic.value("packets_out", 0UL);
    }
    ADD_FAILURE() << "the guest has no rxe0";
    return 0;
  }

  /// rdma-beat is among the applications, with its own pid and one connection up.
  static void expectBeatIsListed(const std::string& host) {
    nlohmann::json app;
    EXPECT_TRUE(within(seconds(10), [&] {
      const auto apps = asked(host, "apps");
      for (const auto& each : apps.at("applications")) {
        if (each.at("name") == "rdma-beat") app = each;
      }
      return app.contains("report") && app["report"]["up"] == 1;
    })) << app.dump();
    ASSERT_TRUE(app.is_object()) << "rdma-beat is not listed";
    EXPECT_EQ(guest("vm1", "pidof rdma-beat").output, app["pid"].dump() + "\n");
    EXPECT_EQ(app["report"]["connections"], 1);
    EXPECT_EQ(app["hold"], "none");
    EXPECT_NE(rdmove(host, {"agent", "vm1", "apps"}).output.find("rdma-beat"), std::string::npos);
  }

  static void expectCountersMove(const std::string& host) {
    const auto before = packets(host);
    EXPECT_TRUE(within(seconds(10), [&] { return packets(host) > before; })) << before;
  }

  /// The record on `host` has what the guest's port counted before and after.
  static void expectBothSnapshots(const std::string& host, const std::string& id) {
    const Outcome shown = rdmove(host, {"show", id, "--json"});
    const auto record = nlohmann::json::parse(shown.output);
    std::map<std::string, std::string> counted;
    for (const auto& snapshot : record["traffic"]) {
      for (const auto& device : snapshot["devices"])
        counted[snapshot["when"].get<std::string>()] = device["traffic"].value("packets_out", "");
    }
    EXPECT_EQ(counted.size(), 2U) << shown.output;
    EXPECT_FALSE(counted["before"].empty()) << shown.output;
    EXPECT_FALSE(counted["after"].empty()) << shown.output;
    const std::string text = rdmove(host, {"show", id}).output;
    EXPECT_NE(text.find("traffic after:"), std::string::npos) << text;
    EXPECT_NE(text.find("of 1 connections of 1 applications are up"), std::string::npos) << text;
  }
};

TEST_F(MainJob, there_and_back_five_times_in_a_row) {
  startBeat("vm1");
  expectBeatIsListed("hosta");
  expectCountersMove("hosta");
  for (int round = 1; round <= 5; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    for (const auto& [from, to] : {std::pair{"hosta", "hostb"}, std::pair{"hostb", "hosta"}}) {
      const Outcome moved = rdmove(from, {"migrate", "vm1", to});
      ASSERT_EQ(moved.status, 0) << moved.output;
      EXPECT_NE(moved.output.find("vm1 runs on " + std::string(to)), std::string::npos) << moved.output;
      expectWhole("vm1", to);
    }
  }
  expectBeatIsListed("hosta");
  const auto list = nlohmann::json::parse(rdmove("hosta", {"list", "--json"}).output);
  for (const char* host : {"hosta", "hostb"}) expectBothSnapshots(host, list["migrations"][0]["id"]);
  expectBeatGoesOn("vm1");
  const auto server = beat("peer");
  // A message whose echo was under way is sent again, so duplicates are the workload's own; a loss would be
  // ours.
  EXPECT_EQ(server.value("lost", -1), 0) << server.dump();
  EXPECT_GE(server.value("connections", 0), 11)
      << "the peer did not see ten reconnections: " << server.dump();
}

TEST_F(MainJob, the_daemon_killed_in_mid_transfer_takes_it_up_again) {
  startBeat("vm1");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb", "--bandwidth", "12"}));
  ASSERT_TRUE(within(seconds(30), transferring));
  lab({"daemon", "kill", "hosta"});
  const Outcome lost = migrate.wait();
  EXPECT_EQ(lost.status, 6) << lost.output;
  ASSERT_EQ(lab({"daemon", "start", "hosta"}).status, 0);
  ASSERT_TRUE(within(seconds(90), [] {
    return rdmove("hosta", {"list", "--json"}).output.find("\"outcome\":\"Running\"") == std::string::npos &&
           state("hostb", "vm1") == "running";
  })) << rdmove("hosta", {"list"}).output;
  expectWhole("vm1", "hostb");
  expectBeatGoesOn("vm1");
  const Outcome back = rdmove("hostb", {"migrate", "vm1", "hosta"});
  EXPECT_EQ(back.status, 0) << back.output;
}

TEST_F(MainJob, two_vms_at_once_one_of_them_transient) {
  const Outcome started = lab({"vm", "start", "vm2@hosta:transient"});
  ASSERT_EQ(started.status, 0) << started.output;
  Running first(rdmoveWords("hosta", {"migrate", "vm1", "hostb"}));
  Running second(rdmoveWords("hosta", {"migrate", "vm2", "hostb"}));
  const Outcome one = first.wait();
  const Outcome two = second.wait();
  EXPECT_EQ(one.status, 0) << one.output;
  EXPECT_EQ(two.status, 0) << two.output;
  expectWhole("vm1", "hostb");
  expectWhole("vm2", "hostb", false);
  const Outcome back = rdmove("hostb", {"migrate", "vm2", "hosta"});
  EXPECT_EQ(back.status, 0) << back.output;
  expectWhole("vm2", "hosta", false);
  lab({"vm", "destroy", "vm2@hosta"});
  EXPECT_EQ(rdmove("hostb", {"migrate", "vm1", "hosta"}).status, 0);
}

TEST_F(MainJob, postcopy_moves_a_guest_that_writes_faster_than_the_link) {
  startBeat("vm1");
  // 32 MiB written over ten times a second: at 16 MiB/s no pass of pre-copy catches up with it. Not zeros,
  // which QEMU does not send; over by itself.
  ASSERT_EQ(guest("vm1",
                  "cd /dev/shm && head -c 1048576 /dev/zero | tr '\\0' x >seed && "
                  "for i in 1 2 3 4 5; do cat seed seed >twice && mv twice seed; done && "
                  "(timeout 90 sh -c 'while :; do dd if=/dev/shm/seed of=/dev/shm/dirt bs=1M conv=notrunc; "
                  "sleep 0.1; done' >/dev/null 2>&1 </dev/null & echo $! >/run/dirt.pid)")
                .status,
            0);
  ASSERT_TRUE(within(seconds(20), [] { return guest("vm1", "[ -s /dev/shm/dirt ]").status == 0; }));
  // Post-copy, from outside: what libvirt tells of the domain's life on the source. (Its state says so, too,
  // but for less time than a look at it takes.)
  Running told({RDMOVE_LAB_COMMAND, "shell", "hosta", "--", "virsh", "-q", "event", "--domain", "vm1",
                "--event", "lifecycle", "--loop", "--timeout", "30"});
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb", "--postcopy", "--bandwidth", "16"}));
  const Outcome moved = migrate.wait();
  EXPECT_EQ(moved.status, 0) << moved.output;
  const Outcome event = told.wait(seconds(50));
  EXPECT_NE(event.output.find("Post-copy"), std::string::npos) << event.output;
  guest("vm1", "kill $(cat /run/dirt.pid); rm -f /dev/shm/seed /dev/shm/dirt");
  expectWhole("vm1", "hostb");
  expectBeatGoesOn("vm1");
  const Outcome back = rdmove("hostb", {"migrate", "vm1", "hosta"});
  EXPECT_EQ(back.status, 0) << back.output;
  expectWhole("vm1", "hosta");
}

TEST_F(MainJob, the_timeline_shows_both_hosts) {
  ASSERT_EQ(rdmove("hosta", {"migrate", "vm1", "hostb"}).status, 0);
  const auto list = nlohmann::json::parse(rdmove("hosta", {"list", "--json"}).output);
  const std::string id = list["migrations"][0]["id"];
  const auto timeline = nlohmann::json::parse(rdmove("hosta", {"timeline", id, "--json"}).output);
  std::set<std::string> sources;
  for (const auto& span : timeline["spans"]) {
    sources.insert(span["source"]);
    EXPECT_NE(span["end_us"], "0") << span.dump();
  }
  EXPECT_EQ(sources, (std::set<std::string>{"guest", "hosta departure", "hostb arrival"}));
  EXPECT_NE(rdmove("hosta", {"timeline", id}).output.find("Plugging"), std::string::npos);
  EXPECT_EQ(rdmove("hostb", {"migrate", "vm1", "hosta"}).status, 0);
}

}  // namespace
}  // namespace rdmove::lab
