// The simulated subnet itself: that it comes up, moves cables, keeps and forgets, runs programs, and leaves
// nothing behind.
#include "migration-tests/subnet/simulated_subnet.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace rdmove::subnet {
namespace {

constexpr std::uint64_t kGuid = 0x0002C90000000010;

Topology three_hosts() {
  Topology all;
  all.add_switch("SW1", 8).add_host("sm").add_host("hosta", kGuid).add_host("hostb");
  all.link({"sm", 1}, {"SW1", 1}).link({"hosta", 1}, {"SW1", 2}).link({"hostb", 1}, {"SW1", 3});
  return all;
}

/// What OpenSM says of the way from the manager's host to the port GUID that hosta has at first. ibsim counts
/// GUIDs up from 0x100000 where none are given, so the first port of the manager's host is 0x100001.
std::string path_to_hosta(SimulatedSubnet& subnet, const std::string& from) {
  return subnet.run(from, {"saquery", "PR", "--sgid", "fe80::10:1", "--dgid", "fe80::2:c900:0:11"}).output;
}

class SimulatedSubnetTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = SimulatedSubnet::why_not()) GTEST_SKIP() << *why;
  }
};

TEST_F(SimulatedSubnetTest, aProgramFindsTheSubnetFromItsHost) {
  SimulatedSubnet subnet({.topology = three_hosts()});
  const Outcome nodes = subnet.run("hostb", {"ibnetdiscover"});
  EXPECT_EQ(nodes.status, 0) << nodes.output;
  EXPECT_NE(nodes.output.find("# Initiated from node"), std::string::npos) << nodes.output;
  EXPECT_NE(nodes.output.find("\"hosta\" lid"), std::string::npos) << nodes.output;
  EXPECT_NE(subnet.console("Dump \"hosta\"").find("2c90000000011"), std::string::npos);
}

TEST_F(SimulatedSubnetTest, aPortComesBackElsewhereWithItsLid) {
  SimulatedSubnet subnet({.topology = three_hosts()});
  const auto lid = [&] { return path_to_hosta(subnet, "hostb"); };
  const std::string before = lid();
  EXPECT_NE(before.find("dlid"), std::string::npos) << before;
  std::size_t mark = subnet.log_end();
  subnet.clear({"hosta", 1});
  subnet.wait_for_log("SUBNET UP", mark);
  EXPECT_NE(lid(), before) << "it is not there";
  mark = subnet.log_end();
  subnet.link({"hosta", 1}, {"SW1", 7});
  subnet.wait_for_log("SUBNET UP", mark);
  EXPECT_EQ(lid(), before);
  EXPECT_NE(subnet.console("Dump \"hosta\"").find("\"SW1\"[7]"), std::string::npos);
}

TEST_F(SimulatedSubnetTest, aGuidMovesToAnotherHost) {
  SimulatedSubnet subnet({.topology = three_hosts()});
  subnet.clear({"hosta", 1});
  subnet.clear({"hostb", 1});
  subnet.set_port_guid("hosta", kGuid + 99);
  subnet.set_port_guid("hostb", kGuid + 1);
  subnet.set_node_guid("hosta", kGuid + 98);
  subnet.set_node_guid("hostb", kGuid);
  const std::size_t mark = subnet.log_end();
  subnet.link({"hostb", 1}, {"SW1", 3});
  subnet.wait_for_log("SUBNET UP", mark);
  const std::string fabric = subnet.run("sm", {"ibnetdiscover"}).output;
  EXPECT_NE(fabric.find("(2c90000000011) \t\t# \"hostb\""), std::string::npos) << fabric;
  EXPECT_NE(path_to_hosta(subnet, "sm").find("dlid"), std::string::npos) << "the GID leads to it";
}

TEST_F(SimulatedSubnetTest, anotherManagerTakesOver) {
  SimulatedSubnet subnet({.topology = three_hosts()});
  EXPECT_TRUE(std::filesystem::exists(subnet.folder() / "cache" / "guid2lid"));
  subnet.stop_manager(true);
  EXPECT_FALSE(std::filesystem::exists(subnet.folder() / "cache"));
  subnet.start_manager();
  EXPECT_EQ(subnet.run("hosta", {"saquery", "NR"}).status, 0);
}

TEST_F(SimulatedSubnetTest, twoDoNotKnowOfEachOther) {
  SimulatedSubnet one({.topology = Topology::star({"sm", "hosta"})});
  SimulatedSubnet two({.topology = Topology::star({"sm", "hostx", "hosty"})});
  EXPECT_EQ(one.run("sm", {"ibnetdiscover"}).output.find("hostx"), std::string::npos);
  EXPECT_NE(two.run("sm", {"ibnetdiscover"}).output.find("hostx"), std::string::npos);
}

TEST_F(SimulatedSubnetTest, whatTheConsoleDoesNotTakeIsSaid) {
  SimulatedSubnet subnet({.topology = three_hosts(), .starts_manager = false});
  EXPECT_THROW(subnet.link({"hosta", 1}, {"SW1", 5}), std::runtime_error) << "it is linked";
  EXPECT_THROW(subnet.link({"nobody", 1}, {"SW1", 5}), std::runtime_error);
  EXPECT_THROW(subnet.console(std::string(127, 'x')), std::runtime_error);
  EXPECT_THROW(subnet.console("Dump\nDump"), std::runtime_error);
  subnet.clear({"hosta", 1});
  subnet.link({"hosta", 1}, {"SW1", 5});
}

TEST_F(SimulatedSubnetTest, aFabricThatIsNoneIsSaid) {
  Topology broken;
  broken.add_host("sm");
  try {
    SimulatedSubnet subnet({.topology = broken.link({"sm", 1}, {"nowhere", 1})});
    FAIL() << "it came up";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("the simulated subnet is not up"), std::string::npos)
        << error.what();
  }
}

TEST_F(SimulatedSubnetTest, whatWasStartedEndsWithIt) {
  pid_t program = 0;
  std::filesystem::path folder;
  {
    SimulatedSubnet subnet({.topology = three_hosts()});
    folder = subnet.folder();
    const auto child = subnet.start("hosta", {"cat"});
    child->write("still here\n");
    EXPECT_EQ(child->read_until("\n"), "still here\n");
    program = child->pid();
    EXPECT_EQ(kill(program, 0), 0);
  }
  EXPECT_NE(kill(program, 0), 0);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(SimulatedSubnetTest, programsThatWereKilledLeaveRoomForOthers) {
  SimulatedSubnet subnet({.topology = three_hosts()});
  for (int i = 0; i < 12; ++i) {
    // On the subnet by its first look at the adapter, by the open() that libibumad calls; and there it stays.
    const auto program =
        subnet.start("hosta", {"python3", "-c",
                               "import ctypes, sys; c = ctypes.CDLL(None); "
                               "f = c.open(b'/sys/class/infiniband/ibsim0/node_guid', 0); "
                               "b = ctypes.create_string_buffer(64); c.read(f, b, 63); "
                               "print(b.value.decode().strip(), flush=True); sys.stdin.read()"});
    EXPECT_EQ(program->read_until("\n"), "0002:c900:0000:0010\n") << i;
    EXPECT_NE(subnet.console("Attached").find("pid " + std::to_string(program->pid()) + ' '),
              std::string::npos);
  }
}

TEST(Child, itsEndIsSeen) {
  Child failing({{"sh", "-c", "echo out; echo err >&2; exit 7"}, {}, {}, {}});
  EXPECT_EQ(failing.read_to_end(), "out\nerr\n");
  EXPECT_EQ(failing.status(), 7);
  Child missing({{"no-such-program-anywhere"}, {}, {}, {}});
  missing.read_to_end();
  EXPECT_EQ(missing.status(), 127);
}

TEST(Child, aWaitThatIsTooLongSaysWhatCameInstead) {
  Child silent({{"sh", "-c", "echo something else; cat"}, {}, {}, {}});
  try {
    silent.read_until("ready", std::chrono::milliseconds(200));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("something else"), std::string::npos) << error.what();
  }
}

TEST(Child, oneThatDoesNotReadDoesNotEndTheTest) {
  Child gone({{"true"}, {}, {}, {}});
  gone.read_to_end();
  EXPECT_THROW(gone.write("hello\n"), std::runtime_error);
}

TEST(TopologyText, isWhatIbsimReads) {
  Topology all;
  all.add_switch("SW1", 4).add_host("a", 0x2C9, 1).link({"a", 1}, {"SW1", 3});
  EXPECT_EQ(all.text(),
            "Switch 4 \"SW1\"\n[3] \"a\"[1]\n\ncaguid=0x00000000000002c9\nHca 1 \"a\"\n[1] \"SW1\"[3]\n@[1] "
            "\"a\"\n\n");
}

}  // namespace
}  // namespace rdmove::subnet
