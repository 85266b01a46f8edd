// A shared port against a real subnet manager: OpenSM on ibsim's fabric, asked through libibumad. What OpenSM
// has is read by saquery, a program of others, or from its own files.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "migration-tests/subnet/simulated_subnet.hpp"
#include "shadowdev/gsi/types.hpp"

namespace rdmove::gsi {
namespace {

using subnet::Child;
using subnet::SimulatedSubnet;
using subnet::Topology;

constexpr std::uint64_t kGuid = 0x0002C90000010000;  // of the first host; each has 16 numbers
constexpr std::uint64_t kStep = 0x10;
constexpr const char* kGroup = "ff12:401b:ffff::1234";

std::string hex(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

/// "sm" and as many hosts, "h0", "h1"..., on as many switches as they need.
Topology fabric_of(unsigned hosts) {
  constexpr unsigned kPerSwitch = 100;
  Topology all;
  const unsigned leaves = (hosts + kPerSwitch - 1) / kPerSwitch;
  all.add_switch("SW0", leaves + 1);
  all.add_host("sm", 0x0002C90000000100).link({"sm", 1}, {"SW0", leaves + 1});
  for (unsigned i = 0; i < leaves; ++i) {
    const std::string leaf = "SW" + std::to_string(i + 1);
    all.add_switch(leaf, kPerSwitch + 1).link({leaf, kPerSwitch + 1}, {"SW0", i + 1});
  }
  for (unsigned i = 0; i < hosts; ++i) {
    const std::string host = "h" + std::to_string(i);
    all.add_host(host, kGuid + i * kStep)
        .link({host, 1}, {"SW" + std::to_string(i / kPerSwitch + 1), i % kPerSwitch + 1});
  }
  return all;
}

class GsiOnSubnet : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = SimulatedSubnet::why_not()) GTEST_SKIP() << *why;
  }
  /// A program with functions on that host.
  static std::unique_ptr<Child> functions(SimulatedSubnet& subnet, const std::string& host) {
    auto program = subnet.start(host, {RDMOVE_GSI_FUNCTIONS});
    program->read_until("ready\n");
    return program;
  }
  static std::string ask(Child& program, const std::string& command) {
    program.write(command + '\n');
    std::string answer = program.read_until("\n");
    answer.pop_back();
    return answer;
  }
  /// The port GIDs that OpenSM has in the group.
  static std::vector<std::string> members(SimulatedSubnet& subnet) {
    const auto listed = subnet.run("sm", {"saquery", "--smkey", "1", "MCMR", "--mgid", kGroup}).output;
    std::vector<std::string> found;
    std::istringstream lines(listed);
    for (std::string line; std::getline(lines, line);) {
      if (const auto at = line.find("PortGid"); at != std::string::npos)
        found.push_back(line.substr(line.find_last_of('.') + 1));
    }
    return found;
  }
  static std::size_t subscriptions(SimulatedSubnet& subnet) {
    const auto listed = subnet.run("sm", {"saquery", "--smkey", "1", "IIR"}).output;
    std::size_t count = 0;
    for (auto at = listed.find("InformInfoRecord dump"); at != std::string::npos;
         at = listed.find("InformInfoRecord dump", at + 1)) {
      ++count;
    }
    return count;
  }
  static std::string gid_of_host(unsigned host) {
    return Gid::from(0xFE80000000000000, kGuid + host * kStep + 1).text();
  }
};

TEST_F(GsiOnSubnet, twoHundredFunctionsAskAtOnceAndEachGetsItsOwnAnswer) {
  constexpr unsigned kFunctions = 200;
  SimulatedSubnet subnet({.topology = fabric_of(kFunctions)});
  // Which LID OpenSM gave to which port, in its own words.
  std::map<std::string, unsigned> lids;
  std::ifstream file(subnet.folder() / "cache" / "guid2lid");
  for (std::string guid, lid, upper; file >> guid >> lid >> upper;) lids[guid] = std::stoul(lid, nullptr, 16);
  ASSERT_GE(lids.size(), kFunctions);

  const auto program = functions(subnet, "h0");
  program->write("paths " + std::to_string(kFunctions) + ' ' + hex(kGuid + 1) + ' ' + hex(kStep) + '\n');
  std::string sums = program->read_until("sent=");
  sums += program->read_until("\n");
  EXPECT_NE(sums.find("sent=200 answered=200 misdelivered=0 "), std::string::npos) << sums;
  RecordProperty("sums", sums.substr(sums.find("sent=")));
  std::istringstream lines(sums);
  unsigned seen = 0;
  for (std::string word, gid; lines >> word && word == "path";) {
    unsigned function = 0;
    unsigned lid = 0;
    lines >> function >> gid >> lid;
    EXPECT_EQ(gid, gid_of_host(function));
    std::ostringstream guid;
    guid << "0x" << std::hex << std::setw(16) << std::setfill('0') << kGuid + function * kStep + 1;
    EXPECT_EQ(lid, lids[guid.str()]) << guid.str();
    ++seen;
  }
  EXPECT_EQ(seen, kFunctions);
}

TEST_F(GsiOnSubnet, twoFunctionsInOneGroupAreOneMember) {
  SimulatedSubnet subnet({.topology = fabric_of(2)});
  const auto program = functions(subnet, "h0");
  EXPECT_EQ(ask(*program, "add 1 fe80::f001"), "ok");
  EXPECT_EQ(ask(*program, "add 2 fe80::f002"), "ok");
  const std::string first = ask(*program, std::string("join 1 ") + kGroup);
  EXPECT_EQ(first.find("status=0 mlid=0xc0"), 0U) << first;
  EXPECT_NE(first.find(" wire=1"), std::string::npos) << first;
  std::string second = ask(*program, std::string("join 2 ") + kGroup);
  EXPECT_EQ(second, first.substr(0, first.find(" wire")) + " wire=0")
      << "the same group, and nothing left the port";
  EXPECT_EQ(members(subnet), std::vector<std::string>{gid_of_host(0)});

  EXPECT_NE(ask(*program, std::string("leave 1 ") + kGroup).find("wire=0"), std::string::npos);
  EXPECT_EQ(members(subnet), std::vector<std::string>{gid_of_host(0)});
  EXPECT_NE(ask(*program, std::string("leave 2 ") + kGroup).find("status=0"), std::string::npos);
  EXPECT_TRUE(members(subnet).empty());
  EXPECT_EQ(ask(*program, std::string("leave 2 ") + kGroup).find("status=512"), 0U) << "it is out";
}

TEST_F(GsiOnSubnet, twoSubscribersAreOneSubscription) {
  SimulatedSubnet subnet({.topology = fabric_of(2)});
  const auto program = functions(subnet, "h0");
  ask(*program, "add 1 fe80::f001");
  ask(*program, "add 2 fe80::f002");
  const std::size_t before = subscriptions(subnet);
  const std::string first = ask(*program, "subscribe 1 65");
  EXPECT_EQ(first.find("status=0"), 0U) << first;
  EXPECT_NE(first.find("wire=1"), std::string::npos) << first;
  EXPECT_NE(ask(*program, "subscribe 2 65").find("wire=0"), std::string::npos);
  EXPECT_EQ(subscriptions(subnet), before + 1);
  EXPECT_NE(ask(*program, "unsubscribe 1 65").find("wire=0"), std::string::npos);
  const std::string last = ask(*program, "unsubscribe 2 65");
  EXPECT_EQ(last.find("status=0"), 0U) << last;
  EXPECT_NE(last.find("wire=1"), std::string::npos) << last;
  EXPECT_EQ(subscriptions(subnet), before);
}

TEST_F(GsiOnSubnet, anotherManagerHearsOfEverythingAgain) {
  SimulatedSubnet subnet({.topology = fabric_of(2)});
  const auto program = functions(subnet, "h0");
  ask(*program, "add 1 fe80::f001");
  ask(*program, "add 2 fe80::f002");
  ask(*program, std::string("join 1 ") + kGroup);
  ask(*program, std::string("join 2 ") + kGroup);
  ask(*program, "subscribe 1 65");
  subnet.stop_manager(true);
  subnet.start_manager();
  EXPECT_TRUE(members(subnet).empty()) << "it has forgotten";
  const std::size_t before = subscriptions(subnet);
  EXPECT_EQ(ask(*program, "ask_again"), "ok wire=2") << "one group and one subscription";
  EXPECT_EQ(members(subnet), std::vector<std::string>{gid_of_host(0)});
  EXPECT_EQ(subscriptions(subnet), before + 1);
}

TEST_F(GsiOnSubnet, aFunctionThatMovesTakesItsGroupAlong) {
  SimulatedSubnet subnet({.topology = fabric_of(2)});
  const auto source = functions(subnet, "h0");
  const auto destination = functions(subnet, "h1");
  ask(*source, "add 1 fe80::f001");
  ask(*source, std::string("join 1 ") + kGroup);
  EXPECT_EQ(members(subnet), std::vector<std::string>{gid_of_host(0)});
  const std::string state = ask(*source, "take_out 1");
  EXPECT_TRUE(members(subnet).empty()) << "the source is out";
  EXPECT_EQ(ask(*destination, "put_in 7 fe80::f001 " + state), "ok wire=1");
  EXPECT_EQ(members(subnet), std::vector<std::string>{gid_of_host(1)});
  EXPECT_EQ(ask(*destination, std::string("leave 7 ") + kGroup).find("status=0"), 0U);
  EXPECT_TRUE(members(subnet).empty());
}

}  // namespace
}  // namespace rdmove::gsi
