// What an operator decides when a host or its journal is lost: `rdmove resolve`.
#include <nlohmann/json.hpp>

#include "lab.hpp"

namespace rdmove::lab {
namespace {

class Resolve : public Lab {
 protected:
  static nlohmann::json newest(const std::string& host) {
    const auto list = nlohmann::json::parse(rdmove(host, {"list", "--json"}).output, nullptr, false);
    if (!list.is_object() || list["migrations"].empty()) return nlohmann::json::object();
    return list["migrations"][0];
  }
};

// The VM runs at the destination, its device is nowhere, and the host that should bring it back has forgotten
// everything.
TEST_F(Resolve, a_vm_whose_arrival_was_forgotten_gets_its_device_and_addresses_by_the_operators_word) {
  startBeat("vm1");
  stopDaemonAt("hostb", "arrival.Plugging");
  Running migrate(rdmoveWords("hosta", {"migrate", "vm1", "hostb"}));
  ASSERT_TRUE(within(seconds(60), [] { return daemonIsStopped("hostb"); }));
  // libvirt tells the destination that the VM runs some two seconds before the source's call returns.
  ASSERT_TRUE(within(seconds(30), [] { return newest("hosta").value("phase", "") == "Handover"; }))
      << newest("hosta");
  const std::string departure = newest("hosta").at("id");
  forgetMigrations("hostb");
  ASSERT_EQ(state("hostb", "vm1"), "running");
  ASSERT_EQ(rdmaDevice(xml("hostb", "vm1")), "");

  const Outcome asked = rdmove("hostb", {"resolve", "vm1"});
  EXPECT_EQ(asked.status, 0) << asked.output;
  EXPECT_NE(asked.output.find("--source-is-dead"), std::string::npos) << asked.output;
  EXPECT_EQ(rdmaDevice(xml("hostb", "vm1")), "") << "asking has changed something";
  EXPECT_EQ(rdmove("hostb", {"resolve", "vm1", "--runs-there"}).status, 3);

  const Outcome said = rdmove("hostb", {"resolve", "vm1", "--source-is-dead"});
  ASSERT_EQ(said.status, 0) << said.output;
  const Outcome ended = rdmove("hostb", {"watch", newest("hostb").value("id", "")});
  EXPECT_EQ(ended.status, 0) << ended.output;

  // The source's own migration waits for an arrival that nobody knows any more. hostb answers, so it takes force.
  const Outcome refused = rdmove("hosta", {"resolve", departure, "--runs-there"});
  EXPECT_EQ(refused.status, 3) << refused.output;
  const Outcome forced = rdmove("hosta", {"resolve", departure, "--runs-there", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.output;
  EXPECT_EQ(migrate.wait().status, 0);
  expectWhole("vm1", "hostb");
  expectBeatGoesOn("vm1");
}

}  // namespace
}  // namespace rdmove::lab
