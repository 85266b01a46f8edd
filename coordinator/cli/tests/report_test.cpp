// The page about a migration, and the file for a bug report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "coordinator/cli/report/page.hpp"
#include "coordinator/cli/tests/fake_daemon.hpp"
#include "coordinator/cli/tests/sample_timeline.hpp"

namespace rdmove::cli {
namespace {

using grpc::Status;
using testing::HasSubstr;
using testing::Not;

v1::ShowReply shown() {
  v1::ShowReply show;
  show.mutable_migration()->set_id("vm1-x");
  show.mutable_migration()->set_domain("vm1");
  show.mutable_migration()->set_role("departure");
  show.mutable_migration()->set_partner("hostb");
  show.mutable_migration()->set_outcome("Completed");
  show.mutable_plan()->set_domain("vm1");
  show.mutable_plan()->add_vfs()->set_alias("ua-rdma0");
  for (const auto& [when, packets] : {std::pair{"before", 90}, std::pair{"after", 190}}) {
    auto* snapshot = show.add_traffic();
    snapshot->set_when(when);
    auto* device = snapshot->add_devices();
    device->set_rdma("rxe0");
    device->set_port(1);
    (*device->mutable_traffic())["packets_in"] = static_cast<std::uint64_t>(packets);
  }
  for (int second = 0; second < 3; ++second) {
    auto* point = show.add_transfer();
    point->set_wall_us(1000000 + second * 1000000);
    point->set_sent_bytes_per_second(5 << 20);
    point->set_dirty_bytes_per_second(1 << 20);
  }
  auto* step = show.add_steps();
  step->set_source("hosta departure");
  step->set_step("Unplugging");
  step->set_mark("failed");
  step->set_detail("the guest refused");
  return show;
}

v1::TimelineReply timeline() {
  auto reply = completedTimeline({{"hosta departure", "Unplugging", 1000000, 1200000},
                                  {"hosta departure", "Transferring", 1200000, 3000000},
                                  {"hostb arrival", "RestoringGuest", 3000000, 3500000}});
  *reply.mutable_migration() = shown().migration();
  return reply;
}

TEST(ReportPage, has_picture_figures_plan_counters_and_steps) {
  const std::string page = reportPage(shown(), timeline());
  EXPECT_THAT(page, HasSubstr("<title>vm1: Completed</title>"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("without RDMA 2500.0 ms"));
  EXPECT_THAT(page, HasSubstr("<b>2500 ms</b>"));
  EXPECT_THAT(page, HasSubstr("<b>1800 ms</b>"));
  EXPECT_THAT(page, HasSubstr("5.0 MiB/s"));
  EXPECT_THAT(page, HasSubstr("<td>ua-rdma0</td>"));
  EXPECT_THAT(page, HasSubstr("<td>packets_in</td><td class=\"r-n\">90</td><td class=\"r-n\">190</td>"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"r-bad\">"));
}

TEST(ReportPage, needs_nothing_but_itself) {
  const std::string page = reportPage(shown(), timeline());
  for (const char* outside : {"<script", "src=", "href=", "@import", "url(http"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
}

TEST(ReportPage, escapes_whatever_it_is_told) {
  const std::string evil = "<script>alert('1')</script>&\"\x01";
  v1::ShowReply show = shown();
  v1::TimelineReply spans = timeline();
  show.mutable_migration()->set_domain(evil);
  show.mutable_migration()->set_error(evil);
  show.mutable_plan()->mutable_vfs(0)->set_pool(evil);
  show.mutable_steps(0)->set_detail(evil);
  (*show.mutable_traffic(0)->mutable_devices(0)->mutable_traffic())[evil] = 1;
  spans.mutable_spans(0)->set_phase(evil);
  const std::string page = reportPage(show, spans);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
}

TEST(ReportPage, of_a_migration_that_has_only_begun) {
  v1::ShowReply show;
  show.mutable_migration()->set_domain("vm1");
  show.mutable_migration()->set_outcome("Running");
  show.mutable_migration()->set_phase("Preflight");
  const std::string page = reportPage(show, {});
  EXPECT_THAT(page, HasSubstr("vm1: running, in Preflight"));
  EXPECT_THAT(page, HasSubstr("Nothing has happened yet."));
}

TEST(Report, is_written_to_its_file) {
  FakeDaemon daemon;
  daemon.show = [](const v1::ShowRequest&, v1::ShowReply& reply) {
    reply = shown();
    return Status::OK;
  };
  daemon.timeline = [](const v1::TimelineRequest& request, v1::TimelineReply& reply) {
    EXPECT_EQ(request.id(), "vm1-x");  // the whole of it, whatever was typed
    reply = timeline();
    return Status::OK;
  };
  const std::string file =
      (std::filesystem::temp_directory_path() / ("rdmove-report-" + std::to_string(getpid()))).string();
  const Ran ran = run(daemon.socket(), {"report", "vm1", "--html", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  std::ifstream written(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), reportPage(shown(), timeline()));
  std::filesystem::remove(file);
  const Ran refused = run(daemon.socket(), {"report", "vm1", "--html", "/nonexistent/page.html"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--html"));
}

TEST(Export, is_json_in_lines) {
  FakeDaemon daemon;
  daemon.exported = [](const v1::ExportRequest&, v1::ExportReply& reply) {
    reply.set_host("hosta");
    *reply.mutable_show() = shown();
    reply.add_log("migration=vm1-x phase=Preflight");
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"export", "vm1-x"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"host\": \"hosta\""));
  EXPECT_THAT(ran.out, HasSubstr("\"packets_in\": \"90\""));
  EXPECT_THAT(ran.out, HasSubstr("\"migration=vm1-x phase=Preflight\""));
}

}  // namespace
}  // namespace rdmove::cli
