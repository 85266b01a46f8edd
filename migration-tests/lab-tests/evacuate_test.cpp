// A host with two VMs that talk to one another is emptied, over a death of its daemon.
#include <nlohmann/json.hpp>

#include "lab.hpp"
#include "ping.hpp"

namespace rdmove::lab {
namespace {

class Evacuate : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    const Outcome started = lab({"vm", "start", "vm2@hosta"});
    ASSERT_EQ(started.status, 0) << started.output;
  }
  void TearDown() override {
    Lab::TearDown();
    for (const char* host : {"hosta", "hostb"}) lab({"vm", "destroy", std::string("vm2@") + host});
  }

  static nlohmann::json parsed(const Outcome& outcome) {
    return nlohmann::json::parse(outcome.output, nullptr, false);
  }
  /// What hosta says of its newest evacuation; an empty object while there is none.
  static nlohmann::json newest() {
    const auto list = parsed(rdmove("hosta", {"list", "--json"}));
    if (!list.is_object() || list["evacuations"].empty()) return nlohmann::json::object();
    return list["evacuations"][0];
  }
  static std::pair<std::int64_t, std::int64_t> timesOf(const nlohmann::json& vm) {
    return {std::stoll(vm.at("began_us").get<std::string>()),
            std::stoll(vm.at("ended_us").get<std::string>())};
  }
};

TEST_F(Evacuate, moves_two_vms_that_are_peers_one_after_the_other_and_goes_on_after_a_restart) {
  startBeat("vm1");
  Ping server("vm1", "ping-server", "--server --port 7472");
  Ping client("vm2", "ping", "10.77.0.1 --port 7472 --connections 1 --rate 20 --size 256");
  expectFlows(client, 1);
  const auto peers = parsed(rdmove("hosta", {"agent", "vm2", "peers", "--json"}));
  ASSERT_TRUE(peers.is_object() && peers.contains("peers")) << peers;
  EXPECT_EQ(peers["peers"], nlohmann::json::array({"10.77.0.1"}));

  const Outcome planned = rdmove("hosta", {"evacuate", "--dry-run", "--json"});
  ASSERT_EQ(planned.status, 0) << planned.output;
  const auto vms = parsed(planned).at("evacuation").at("vms");
  ASSERT_EQ(vms.size(), 2U) << planned.output;
  for (const auto& vm : vms) {
    EXPECT_EQ(vm.at("destination"), "hostb");
    EXPECT_EQ(vm.at("peers"), nlohmann::json::array({vm.at("domain") == "vm1" ? "vm2" : "vm1"}));
  }
  EXPECT_EQ(rdmove("hosta", {"evacuate", "hosta"}).status, 3);
  EXPECT_EQ(rdmove("hosta", {"evacuate", "nowhere"}).status, 3);
  EXPECT_EQ(state("hosta", "vm1"), "running") << "a plan has changed something";
  EXPECT_TRUE(newest().empty()) << newest();

  Running evacuate(rdmoveWords("hosta", {"evacuate"}));
  const auto oneMoves = [] {
    const auto known = newest();
    if (known.empty()) return false;
    for (const auto& vm : known.at("vms")) {
      if (vm.at("state") == "moved") return false;
    }
    return virsh("hosta", {"domjobinfo", "vm1"}).output.find("Outgoing") != std::string::npos ||
           virsh("hosta", {"domjobinfo", "vm2"}).output.find("Outgoing") != std::string::npos;
  };
  ASSERT_TRUE(within(seconds(30), oneMoves)) << newest();
  const Outcome second = rdmove("hosta", {"evacuate"});
  EXPECT_EQ(second.status, 3) << second.output;
  lab({"daemon", "kill", "hosta"});
  EXPECT_EQ(evacuate.wait().status, 6);
  const Outcome again = lab({"daemon", "start", "hosta"});
  ASSERT_EQ(again.status, 0) << again.output;

  const std::string id = newest().at("id");
  const Outcome watched = rdmove("hosta", {"watch", id}, seconds(90));
  EXPECT_EQ(watched.status, 0) << watched.output;
  expectWhole("vm1", "hostb");
  expectWhole("vm2", "hostb");
  expectBeatGoesOn("vm1");
  expectFlows(client, 1);

  const auto over = newest();
  EXPECT_EQ(over.at("outcome"), "Completed") << over;
  ASSERT_EQ(over.at("vms").size(), 2U);
  const auto first = timesOf(over["vms"][0]);
  const auto last = timesOf(over["vms"][1]);
  EXPECT_TRUE(first.second <= last.first || last.second <= first.first) << "peers moved together: " << over;

  const Outcome page = rdmove("hosta", {"report", id, "--html", "-"});
  EXPECT_EQ(page.status, 0);
  EXPECT_NE(page.output.find("2 of 2"), std::string::npos);
  EXPECT_NE(page.output.find("without RDMA, as the hosts saw it"), std::string::npos);
  EXPECT_EQ(rdmove("hosta", {"evacuate"}).status, 0) << "a host that is empty already";
}

}  // namespace
}  // namespace rdmove::lab
