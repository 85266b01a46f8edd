// rdmove evacuate, and the commands that take an evacuation's id, against a daemon that does what a test
// says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "coordinator/cli/evacuation_view.hpp"
#include "coordinator/cli/report/evacuation_page.hpp"
#include "coordinator/cli/tests/fake_daemon.hpp"
#include "coordinator/cli/tests/sample_timeline.hpp"

namespace rdmove::cli {
namespace {

using grpc::Status;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kId = "evacuation-hosta-x";

v1::EvacuationSummary summary(const std::string& outcome = "Running") {
  v1::EvacuationSummary evacuation;
  evacuation.set_id(kId);
  evacuation.set_host("hosta");
  evacuation.set_outcome(outcome);
  evacuation.add_destinations("hostb");
  evacuation.set_max_parallel(2);
  evacuation.set_per_fabric(1);
  auto* vm1 = evacuation.add_vms();
  vm1->set_domain("vm1");
  vm1->set_state("moving");
  vm1->set_destination("hostb");
  vm1->set_migration("vm1-x");
  vm1->set_memory_kib(4 << 20);
  vm1->set_vcpus(2);
  (*vm1->mutable_vfs())["fabric"] = 1;
  vm1->add_peers("vm2");
  vm1->set_began_us(1000000);
  auto* vm2 = evacuation.add_vms();
  vm2->set_domain("vm2");
  vm2->set_state("stayed");
  vm2->set_reason("hostb: pool fabric has 0 VFs free, 1 needed");
  return evacuation;
}

v1::EvacuationPlan plan() {
  v1::EvacuationPlan plan;
  *plan.mutable_evacuation() = summary();
  plan.mutable_evacuation()->clear_id();
  auto* room = plan.add_destinations();
  room->set_host("hostb");
  (*room->mutable_free_vfs())["fabric"] = 1;
  room->set_memory_kib(30 << 20);
  room->set_cpus(16);
  auto* finding = plan.add_findings();
  finding->set_severity(v1::Finding::WARNING);
  finding->set_code("shut-off");
  finding->set_sentence("vm3 is shut off: it stays defined on hosta.");
  return plan;
}

v1::MigrationUpdate ownUpdate(const v1::EvacuationSummary& evacuation, const std::string& message = "") {
  v1::MigrationUpdate update;
  update.mutable_migration()->set_id(evacuation.id());
  update.mutable_migration()->set_role("evacuation");
  update.mutable_migration()->set_outcome(evacuation.outcome());
  *update.mutable_evacuation() = evacuation;
  update.set_message(message);
  update.set_final(evacuation.outcome() != "Running");
  return update;
}

v1::MigrationUpdate ended(const std::string& outcome) {
  auto evacuation = summary(outcome);
  evacuation.mutable_vms(0)->set_state("moved");
  evacuation.mutable_vms(0)->set_ended_us(3500000);
  return ownUpdate(evacuation, std::string(kId) + ": 1 of 2 VMs have moved, 1 stayed.");
}

TEST(Evacuate, dry_run_prints_who_goes_where_and_exits_3_when_somebody_stays) {
  FakeDaemon daemon;
  daemon.plan_evacuation = [](const v1::EvacuateRequest& request, v1::EvacuationPlan& reply) {
    EXPECT_EQ(request.destinations(0), "hostb");
    reply = plan();
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"evacuate", "hostb", "--dry-run"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.out, HasSubstr("2 VMs of hosta, at most 2 at a time, 1 of a fabric\n"));
  EXPECT_THAT(ran.out, HasSubstr("vm1  hostb    4.0 GiB  2      1 fabric  vm2\n"));
  EXPECT_THAT(ran.out, HasSubstr("vm2  nowhere"));
  EXPECT_THAT(ran.out, HasSubstr("vm2 stays: hostb: pool fabric has 0 VFs free, 1 needed\n"));
  EXPECT_THAT(ran.out, HasSubstr("hostb        30.0 GiB     16    0      1 fabric\n"));
  EXPECT_THAT(ran.out, HasSubstr("shut-off: vm3 is shut off"));
}

TEST(Evacuate, dry_run_with_room_for_all_exits_0) {
  FakeDaemon daemon;
  daemon.plan_evacuation = [](const v1::EvacuateRequest&, v1::EvacuationPlan& reply) {
    reply = plan();
    reply.mutable_evacuation()->mutable_vms()->RemoveLast();
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"evacuate", "--dry-run", "--json"}).code, 0);
}

TEST(Evacuate, shows_the_plan_each_change_and_who_stayed_and_exits_4) {
  FakeDaemon daemon;
  daemon.evacuate = [](grpc::ServerContext&, const v1::EvacuateRequest& request,
                       FakeDaemon::Updates& updates) {
    EXPECT_EQ(request.max_parallel(), 4U);
    auto first = ownUpdate(summary());
    *first.mutable_plan() = plan();
    updates.Write(first);
    updates.Write(ownUpdate(summary(), "vm1 goes to hostb as vm1-x"));
    updates.Write(updateOf("Transferring"));
    updates.Write(ended("Incomplete"));
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"evacuate", "--max-parallel", "4"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.out, HasSubstr("VM   GOES TO"));
  EXPECT_THAT(ran.out, HasSubstr("evacuation-hosta-x  vm1 goes to hostb as vm1-x\n"));
  EXPECT_THAT(ran.out, HasSubstr("vm2 stayed: hostb: pool fabric has 0 VFs free, 1 needed\n"));
  EXPECT_EQ(ran.err, "rdmove: evacuation-hosta-x: 1 of 2 VMs have moved, 1 stayed.\n");
}

TEST(Evacuate, exits_by_its_outcome) {
  const std::pair<const char*, int> kOutcomes[] = {
      {"Completed", 0}, {"Incomplete", 4}, {"Cancelled", 4}, {"Degraded", 5}};
  for (const auto& [outcome, code] : kOutcomes) {
    FakeDaemon daemon;
    daemon.evacuate = [outcome = outcome](grpc::ServerContext&, const v1::EvacuateRequest&,
                                          FakeDaemon::Updates& updates) {
      updates.Write(ended(outcome));
      return Status::OK;
    };
    const Ran ran = run(daemon.socket(), {"evacuate", "--json"});
    EXPECT_EQ(ran.code, code) << outcome;
    EXPECT_THAT(ran.out, HasSubstr("\"role\":\"evacuation\""));
    EXPECT_THAT(ran.out, HasSubstr("\"state\":\"moved\""));
    EXPECT_EQ(ran.err, "");
  }
}

TEST(Evacuate, an_empty_host_is_no_failure) {
  FakeDaemon daemon;
  daemon.evacuate = [](grpc::ServerContext&, const v1::EvacuateRequest&, FakeDaemon::Updates& updates) {
    v1::MigrationUpdate update;
    update.mutable_migration()->set_outcome("Completed");
    update.set_message("No VM that runs on hosta has rdma metadata: nothing is to be moved.");
    update.set_final(true);
    updates.Write(update);
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"evacuate"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("nothing is to be moved"));
}

TEST(Evacuate, refused_is_3_with_the_daemons_words) {
  FakeDaemon daemon;
  daemon.evacuate = [](grpc::ServerContext&, const v1::EvacuateRequest&, FakeDaemon::Updates&) {
    return Status(grpc::StatusCode::INVALID_ARGUMENT, "hosta is this host, which is to be evacuated.");
  };
  const Ran ran = run(daemon.socket(), {"evacuate", "hosta"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("hosta is this host"));
}

TEST(Evacuate, a_daemon_that_dies_leaves_it_going_on_by_its_own_id) {
  FakeDaemon daemon;
  daemon.evacuate = [](grpc::ServerContext&, const v1::EvacuateRequest&, FakeDaemon::Updates& updates) {
    updates.Write(ownUpdate(summary()));
    updates.Write(updateOf("Transferring"));
    return Status(grpc::StatusCode::UNAVAILABLE, "stopping");
  };
  const Ran ran = run(daemon.socket(), {"evacuate"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_THAT(ran.err, HasSubstr("evacuation evacuation-hosta-x goes on"));
  EXPECT_THAT(ran.err, HasSubstr("rdmove watch evacuation-hosta-x"));
}

TEST(Evacuate, watch_follows_it_as_evacuate_does) {
  FakeDaemon daemon;
  daemon.watch = [](grpc::ServerContext&, const v1::WatchRequest& request, FakeDaemon::Updates& updates) {
    EXPECT_EQ(request.id(), kId);
    updates.Write(ownUpdate(summary(), "vm1 goes to hostb as vm1-x"));
    updates.Write(ended("Incomplete"));
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"watch", kId});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.out, HasSubstr("vm2 stayed: hostb"));
}

TEST(Evacuate, list_and_show_know_it) {
  FakeDaemon daemon;
  daemon.list = [](const v1::ListRequest&, v1::ListReply& reply) {
    *reply.add_evacuations() = ended("Incomplete").evacuation();
    return Status::OK;
  };
  daemon.show = [](const v1::ShowRequest&, v1::ShowReply& reply) {
    *reply.mutable_evacuation() = ended("Incomplete").evacuation();
    auto* tried = reply.mutable_evacuation()->mutable_vms(0)->add_tried();
    tried->set_destination("hostc");
    tried->set_migration("vm1-w");
    tried->set_reason("pool fabric has no free VF");
    return Status::OK;
  };
  EXPECT_THAT(run(daemon.socket(), {"list"}).out,
              HasSubstr("evacuation-hosta-x  hostb  2    1      Incomplete"));
  const Ran shown = run(daemon.socket(), {"show", kId});
  EXPECT_THAT(shown.out, HasSubstr("limits      at most 2 at a time, 1 of a fabric\n"));
  EXPECT_THAT(shown.out, HasSubstr("vm2  stayed"));
  EXPECT_THAT(shown.out, HasSubstr("vm1 was tried to hostc before, as vm1-w: pool fabric has no free VF\n"));
  EXPECT_THAT(run(daemon.socket(), {"completion", "ids"}).out, HasSubstr("evacuation-hosta-x\n"));
}

struct Screen {
  std::ostringstream out, err;
  Terminal terminal{out, err, Redraw::kYes, 80};
};

TEST(EvacuationView, draws_one_line_a_vm_over_the_one_before) {
  Screen screen;
  const auto view = evacuationView(screen.terminal);
  view->show(ownUpdate(summary()));
  EXPECT_THAT(screen.out.str(),
              HasSubstr("\rvm1  hostb       begins\033[K\n\rvm2  -           stayed: hostb: pool"));
  EXPECT_THAT(screen.out.str(), Not(HasSubstr("\033[2A")));
  auto moving = updateOf("Transferring");
  moving.mutable_progress()->set_total_bytes(1 << 30);
  moving.mutable_progress()->set_remaining_bytes(1 << 29);
  view->show(moving);
  EXPECT_THAT(screen.out.str(), HasSubstr("\033[2A\rvm1  hostb       Transferring   50 %"));
  view->show(ended("Incomplete"));
  EXPECT_THAT(screen.out.str(), HasSubstr("\rvm1  hostb       moved in 2.5 s\033[K\n"));
  EXPECT_THAT(screen.out.str(), HasSubstr("vm2 stayed: hostb: pool fabric has 0 VFs free, 1 needed\n"));
}

TEST(EvacuationView, no_line_is_wider_than_the_terminal_nor_steers_it) {
  auto vm = summary().vms(1);
  vm.set_reason("\033[2J" + std::string(300, 'x'));
  for (int width = 0; width < 120; ++width) {
    const std::string line = vmLine(vm, {}, 3, width);
    EXPECT_LE(static_cast<int>(line.size()), width);
    EXPECT_THAT(line, Not(HasSubstr("\033")));
  }
}

v1::TimelineReply timeline() {
  return completedTimeline({{"hosta departure", "Unplugging", 1000000, 1200000},
                            {"hostb arrival", "RestoringGuest", 3000000, 3400000}});
}

TEST(EvacuationPage, has_a_row_a_vm_on_one_axis_and_when_each_was_without_rdma) {
  auto evacuation = ended("Incomplete").evacuation();
  auto* tried = evacuation.mutable_vms(0)->add_tried();
  tried->set_destination("hostc");
  tried->set_migration("vm1-w");
  tried->set_reason("full");
  const std::string page = evacuationPage(evacuation, {{"vm1-x", timeline()}, {"vm1-w", timeline()}});
  EXPECT_THAT(page, HasSubstr("<title>Evacuation of hosta: Incomplete</title>"));
  EXPECT_THAT(page, HasSubstr("VMs of hosta"));
  EXPECT_THAT(page, HasSubstr("<b>1 of 2</b>"));
  EXPECT_THAT(page, HasSubstr("<b>2500 ms</b><span class=\"r-dim\">in all"));
  EXPECT_THAT(page, HasSubstr("<b>2400 ms</b>"));
  EXPECT_THAT(page, HasSubstr("hostc was tried before: full"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"r-bad\"><td>vm2</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http://www.w3.org/1999")));
}

TEST(EvacuationPage, names_are_text_and_nothing_else) {
  auto evacuation = summary();
  evacuation.mutable_vms(0)->set_domain("<script>x</script>");
  EXPECT_THAT(evacuationPage(evacuation, {}), Not(HasSubstr("<script>x")));
}

TEST(EvacuationPage, report_writes_it_with_the_timelines_that_there_are) {
  FakeDaemon daemon;
  daemon.show = [](const v1::ShowRequest&, v1::ShowReply& reply) {
    *reply.mutable_evacuation() = ended("Incomplete").evacuation();
    return Status::OK;
  };
  std::vector<std::string> asked;
  daemon.timeline = [&](const v1::TimelineRequest& request, v1::TimelineReply& reply) {
    asked.push_back(request.id());
    reply = timeline();
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"report", kId, "--html", "-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(asked, testing::ElementsAre("vm1-x"));
  EXPECT_THAT(ran.out, HasSubstr("without RDMA, as the hosts saw it"));
}

}  // namespace
}  // namespace rdmove::cli
