// A VM that plain virsh moves, with rdmove around it: prepared, moved, completed by the destination alone;
// and taken back when nobody moves it.
#include "lab.hpp"

namespace rdmove::lab {
namespace {

class Prepare : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    ASSERT_EQ(lab({"hook", "on", "hostb"}).status, 0);
  }
  void TearDown() override {
    Lab::TearDown();
    lab({"hook", "off", "hostb"});
  }

  static void prepare(const std::string& hold) {
    const Outcome prepared = rdmove("hosta", {"prepare", "vm1", "hostb", "--hold", hold});
    ASSERT_EQ(prepared.status, 0) << prepared.output;
    EXPECT_NE(prepared.output.find("vm1 is prepared for hostb"), std::string::npos) << prepared.output;
    EXPECT_EQ(rdmaDevice(xml("hosta", "vm1")), "");
  }
  static Outcome migrate(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"migrate", "--live", "--p2p", "vm1", "qemu+tcp://hostb/system"};
    words.insert(words.end(), more.begin(), more.end());
    return virsh("hosta", words);
  }
  static nlohmann::json newest(const std::string& host) {
    const auto list =
        nlohmann::json::parse(rdmove(host, {"list", "--newest", "1", "--json"}).output, nullptr, false);
    return list.is_discarded() || list["migrations"].empty() ? nlohmann::json() : list["migrations"][0];
  }
  static bool endsAs(const std::string& host, const std::string& outcome) {
    return within(seconds(60), [&] { return newest(host).value("outcome", "") == outcome; });
  }
};

TEST_F(Prepare, plain_virsh_moves_it_and_the_destination_completes_by_itself) {
  startBeat("vm1");
  prepare("5m");
  const Outcome moved = migrate({"--persistent", "--undefinesource"});
  ASSERT_EQ(moved.status, 0) << moved.output;
  EXPECT_TRUE(endsAs("hosta", "Completed")) << newest("hosta").dump();
  EXPECT_TRUE(endsAs("hostb", "Completed")) << newest("hostb").dump();
  expectWhole("vm1", "hostb");
  expectBeatGoesOn("vm1");
  EXPECT_EQ(rdmove("hostb", {"migrate", "vm1", "hosta"}).status, 0);
}

TEST_F(Prepare, a_mover_that_leaves_the_definition_finds_it_left) {
  prepare("5m");
  const Outcome moved = migrate();
  ASSERT_EQ(moved.status, 0) << moved.output;
  EXPECT_TRUE(endsAs("hosta", "Completed")) << newest("hosta").dump();
  EXPECT_EQ(state("hostb", "vm1"), "running");
  EXPECT_EQ(state("hosta", "vm1"), "shut off");
  EXPECT_NE(rdmaDevice(xml("hosta", "vm1", true)), "");
  EXPECT_NE(virsh("hostb", {"dominfo", "vm1"}).output.find("Persistent:     no"), std::string::npos);
  EXPECT_NE(rdmaDevice(xml("hostb", "vm1")), "");
  for (const char* host : {"hosta", "hostb"}) lab({"vm", "destroy", std::string("vm1@") + host});
}

TEST_F(Prepare, that_nobody_follows_is_undone_after_its_hold) {
  startBeat("vm1");
  prepare("2s");
  EXPECT_TRUE(endsAs("hosta", "RolledBack")) << newest("hosta").dump();
  EXPECT_NE(newest("hosta").value("error", "").find("no migration followed within 2 s"), std::string::npos);
  expectWhole("vm1", "hosta");
  expectBeatGoesOn("vm1");
  const Outcome late = migrate();
  EXPECT_NE(late.output.find("was not prepared for hostb"), std::string::npos) << late.output;
}

TEST_F(Prepare, is_taken_back_by_cancel) {
  prepare("5m");
  const Outcome cancelled = rdmove("hosta", {"cancel", newest("hosta")["id"]});
  EXPECT_EQ(cancelled.status, 0) << cancelled.output;
  EXPECT_TRUE(endsAs("hosta", "RolledBack")) << newest("hosta").dump();
  expectWhole("vm1", "hosta");
}

TEST_F(Prepare, a_migration_that_fails_gives_the_vm_its_device_back) {
  prepare("5m");
  const Outcome failed =
      migrate({"--migrateuri", "tcp://192.0.2.1:49200"});  // RFC 5737: nobody's, and no way leads there
  EXPECT_NE(failed.status, 0) << failed.output;
  // libvirt may refuse it before there is a job: then the hold decides, and the operator.
  if (newest("hosta").value("phase", "") == "Prepared") rdmove("hosta", {"cancel", newest("hosta")["id"]});
  EXPECT_TRUE(endsAs("hosta", "RolledBack")) << newest("hosta").dump();
  expectWhole("vm1", "hosta");
}

TEST_F(Prepare, both_daemons_may_be_killed_while_it_waits) {
  prepare("5m");
  for (const char* host : {"hosta", "hostb"}) lab({"daemon", "kill", host});
  for (const char* host : {"hosta", "hostb"}) ASSERT_EQ(lab({"daemon", "start", host}).status, 0);
  EXPECT_EQ(newest("hosta").value("phase", ""), "Prepared");
  const Outcome moved = migrate({"--persistent", "--undefinesource"});
  ASSERT_EQ(moved.status, 0) << moved.output;
  EXPECT_TRUE(endsAs("hosta", "Completed")) << newest("hosta").dump();
  expectWhole("vm1", "hostb");
  EXPECT_EQ(rdmove("hostb", {"migrate", "vm1", "hosta"}).status, 0);
}

TEST_F(Prepare, a_vm_that_ends_meanwhile_leaves_no_lease) {
  prepare("5m");
  virsh("hosta", {"destroy", "vm1"});
  EXPECT_TRUE(endsAs("hosta", "RolledBack")) << newest("hosta").dump();
  EXPECT_TRUE(within(seconds(10), [] { return newest("hostb").value("outcome", "") == "Withdrawn"; }))
      << newest("hostb").dump();
  ASSERT_EQ(lab({"vm", "start", "vm1@hosta"}).status, 0);
  expectWhole("vm1", "hosta");
}

}  // namespace
}  // namespace rdmove::lab
