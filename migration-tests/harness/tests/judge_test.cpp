// Each broken rule is seen, and by its own sentence; what is as it must be has none.
#include "migration-tests/harness/judge.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace rdmove::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  Scenario scenario;
  View before;
  View after;
  Story story;

  std::vector<std::string> verdict() const { return judge(scenario, before, after, story); }
};

/// A migration that went well, from hosta to hostb.
Case completed() {
  Case c;
  const Devices devices = {{"ua-rdma0", {1, "52:54:00:77:00:01", "0000:06:00.0"}}};
  HostView home{"hosta", "running", true, "<rdma>", devices, devices, {}, {}, {{"br0#1", "attached", "vm1"}},
                true,    {1, 2}};
  HostView empty{"hostb", "", false, "", {}, {}, {}, {}, {{"br0#1", "free", ""}}, true, {}};
  c.before.source = home;
  c.before.destination = empty;
  c.before.guest = {true, {"52:54:00:77:00:01 10.77.0.1/24"}, true};
  c.before.load = {true, 4, 4, 100, 0, 0, 0, 0, 0};
  c.before.peer_load = c.before.load;
  c.after = c.before;
  std::swap(c.after.source, c.after.destination);
  std::swap(c.after.source.name, c.after.destination.name);
  c.after.source.ticks = {3, 4, 5};
  c.after.destination.ticks = {6, 7};
  c.after.load.delivered = 200;
  c.story.over = true;
  c.story.outcome = "Completed";
  c.story.arrival_outcome = "Completed";
  c.story.command_status = 0;
  return c;
}

Case rolledBack() {
  Case c = completed();
  std::swap(c.after.source, c.after.destination);
  std::swap(c.after.source.name, c.after.destination.name);
  c.after.destination.ticks = {};
  c.story.outcome = "RolledBack";
  c.story.command_status = 4;
  return c;
}

TEST(Judge, what_is_as_it_must_be_passes) {
  EXPECT_THAT(completed().verdict(), IsEmpty());
  EXPECT_THAT(rolledBack().verdict(), IsEmpty());
}

TEST(Judge, the_outcome_must_be_one_that_is_expected) {
  Case c = completed();
  c.scenario.expect.outcomes = {"RolledBack"};
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("the outcome is Completed, not RolledBack")));
  c = rolledBack();
  c.scenario.expect.runs_on = Side::kDestination;
  EXPECT_THAT(c.verdict(), ElementsAre("it should run on the destination"));
}

TEST(Judge, a_fault_that_never_came_shows_nothing) {
  Case c = completed();
  c.story.not_reached = {"cancel at departure.Settling"};
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("never came to pass")));
}

TEST(Judge, the_journal_is_not_believed_about_where_the_vm_is) {
  Case c = completed();
  c.story.outcome = "RolledBack";
  c.story.command_status = 4;
  EXPECT_THAT(c.verdict(), testing::Contains(HasSubstr("does not run on hosta")));
  EXPECT_THAT(c.verdict(), testing::Contains(HasSubstr("hostb still has the VM")));
}

TEST(Judge, the_status_of_the_command_and_the_outcome_agree) {
  Case c = completed();
  c.story.command_status = 4;
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("status 4")));
  c.story.command_status = 6;  // it lost its daemon
  EXPECT_THAT(c.verdict(), IsEmpty());
  c.story.command_status = 5;
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("no host ever was")));
  c.story.degraded = true;
  EXPECT_THAT(c.verdict(), IsEmpty());
  c.story.command_status = 137;
  c.story.command_killed = true;
  EXPECT_THAT(c.verdict(), IsEmpty());
}

TEST(Judge, what_was_to_be_shown_must_have_come_about) {
  Case c = completed();
  c.scenario.expect.noted = {"resumed here"};
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("no journal has noted \"resumed here\"")));
  c.story.notes = {"hosta departure Transferring note: it was resumed here"};
  EXPECT_THAT(c.verdict(), IsEmpty());
}

TEST(Judge, degraded_on_the_way_is_asked_for) {
  Case c = completed();
  c.scenario.expect.degraded = true;
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("neither host said Degraded")));
}

TEST(Judge, a_guest_that_ran_on_both_hosts_is_seen_by_its_ticks) {
  Case c = completed();
  c.after.source.ticks = {3, 4, 5, 6, 7};
  EXPECT_THAT(c.verdict(), ElementsAre(HasSubstr("for 2 ticks (6 to 7)")));
  c.scenario.expect.doubled_ticks = 2;
  EXPECT_THAT(c.verdict(), IsEmpty());
}

TEST(Judge, a_vm_that_was_ended_is_not_brought_back) {
  Case c = completed();
  c.scenario.expect.vm_ends = true;
  c.story.outcome = "Withdrawn";
  c.story.command_status = 5;
  c.story.degraded = true;
  c.after.destination.state = "shut off";
  EXPECT_THAT(c.verdict(), IsEmpty());
  c.after.destination.state = "running";
  EXPECT_THAT(c.verdict(), testing::Contains(HasSubstr("runs on hostb again")));
  c.after.destination.state = "shut off";
  c.after.source.state = "running";
  EXPECT_THAT(c.verdict(), testing::Contains(HasSubstr("hosta still has the VM")));
}

struct Breach {
  const char* name;
  std::function<void(Case&)> make;
  const char* said;
};
void PrintTo(const Breach& breach, std::ostream* out) { *out << breach.name; }

class JudgeBreach : public ::testing::TestWithParam<Breach> {};

TEST_P(JudgeBreach, is_seen) {
  Case c = completed();
  GetParam().make(c);
  EXPECT_THAT(c.verdict(), testing::Contains(HasSubstr(GetParam().said)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, JudgeBreach,
    ::testing::Values(
        Breach{"not_over", [](Case& c) { c.story.over = false; }, "it is not over"},
        Breach{"trouble", [](Case& c) { c.story.trouble = "no ssh"; }, "no ssh"},
        Breach{"paused", [](Case& c) { c.after.destination.state = "paused"; }, "does not run on hostb"},
        Breach{"still_defined", [](Case& c) { c.after.source.state = "shut off"; },
               "hosta still has the VM: shut off"},
        Breach{"twice", [](Case& c) { c.after.destination.live["ua-rdma0"].count = 2; },
               "the live devices are"},
        Breach{"no_device", [](Case& c) { c.after.destination.live["ua-rdma0"] = {}; },
               "the live devices are"},
        Breach{"other_mac",
               [](Case& c) { c.after.destination.live["ua-rdma0"].identity = "52:54:00:77:00:02"; },
               "the live devices are"},
        Breach{"other_slot",
               [](Case& c) { c.after.destination.live["ua-rdma0"].guest_address = "0000:07:00.0"; },
               "the live devices are"},
        Breach{"definition", [](Case& c) { c.after.destination.defined["ua-rdma0"] = {}; },
               "the devices in its definition"},
        Breach{"transient", [](Case& c) { c.after.destination.persistent = false; }, "not persistent"},
        Breach{"metadata", [](Case& c) { c.after.destination.metadata = ""; }, "its metadata is"},
        Breach{"guest", [](Case& c) { c.after.guest.answers = false; }, "the guest does not answer"},
        Breach{"address", [](Case& c) { c.after.guest.addresses.clear(); }, "the guest's addresses are"},
        Breach{"rdma", [](Case& c) { c.after.guest.rdma_active = false; }, "no active RDMA device"},
        Breach{"lease", [](Case& c) { c.after.destination.leases = {"br0#1 of m"}; },
               "still has a lease: br0#1 of m"},
        Breach{"unfinished", [](Case& c) { c.after.source.unfinished = {"m departure in Settling"}; },
               "unfinished migration"},
        Breach{"journal", [](Case& c) { c.after.source.journal_read = false; },
               "the journal of hosta cannot be read"},
        Breach{"leased_vf", [](Case& c) { c.after.source.vfs[0].state = "leased"; }, "is leased to"},
        Breach{"vf_left", [](Case& c) { c.after.source.vfs[0].domain = "vm1"; },
               "1 VFs of hosta are the VM's"},
        Breach{"no_vf", [](Case& c) { c.after.destination.vfs.clear(); }, "0 VFs of hostb are the VM's"},
        Breach{"down", [](Case& c) { c.after.load.up = 3; }, "3 of 4 connections are up"},
        Breach{"still", [](Case& c) { c.after.load.delivered = 100; }, "no message came through"},
        Breach{"lost", [](Case& c) { c.after.load.lost = 1; }, "the VM counts lost 1"},
        Breach{"doubled", [](Case& c) { c.after.peer_load.duplicated = 1; },
               "the peer counts lost 0, duplicated 1"},
        Breach{"no_load", [](Case& c) { c.after.peer_load.answers = false; }, "the load does not say"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace rdmove::harness
