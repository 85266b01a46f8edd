#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "coordinator/cli/tests/fake_daemon.hpp"

namespace rdmove::cli {
namespace {

using grpc::Status;
using grpc::StatusCode;
using testing::HasSubstr;

TEST(Session, without_a_daemon_says_where_it_looked_and_what_to_do) {
  const Ran ran = run("/nonexistent/rdmoved.sock", {"migrate", "vm1", "hostb"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.err,
            "rdmove: cannot reach rdmoved at /nonexistent/rdmoved.sock: No such file or directory. Start it "
            "with 'systemctl start rdmoved', or name its socket with --socket.\n");
}

TEST(Session, a_listener_that_hangs_up_is_lost_contact) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rdmove-hangup-" + std::to_string(::getpid()))).string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  std::thread hangs_up([&] { ::close(::accept(listener, nullptr, nullptr)); });
  const Ran ran = run(path, {"migrate", "vm1", "hostb"});
  hangs_up.join();
  ::close(listener);
  std::filesystem::remove(path);
  EXPECT_EQ(ran.code, 6);
  EXPECT_THAT(ran.err, HasSubstr("the migration of vm1 goes on if it had started. 'rdmove list' shows it"));
}

TEST(Session, an_older_daemon_is_named_as_such) {
  FakeDaemon daemon;
  const Ran ran = run(daemon.socket(), {"list"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("it is older than this rdmove"));
}

TEST(Session, list_and_vf_list_ask_and_print) {
  FakeDaemon daemon;
  daemon.list = [](const v1::ListRequest& request, v1::ListReply& reply) {
    EXPECT_EQ(request.newest(), 7U);
    *reply.add_migrations() = finalOf("Completed").migration();
    return Status::OK;
  };
  daemon.list_vfs = [](const auto&, v1::ListVfsReply& reply) {
    reply.add_vfs()->set_name("br0#3");
    return Status::OK;
  };
  EXPECT_THAT(run(daemon.socket(), {"list", "--newest", "7"}).out, HasSubstr("vm1-x"));
  EXPECT_THAT(run(daemon.socket(), {"vf", "list", "--json"}).out, HasSubstr("\"name\":\"br0#3\""));
}

TEST(Session, vf_show_asks_for_one_vf) {
  FakeDaemon daemon;
  daemon.show_vf = [](const v1::ShowVfRequest& request, v1::ShowVfReply& reply) {
    EXPECT_EQ(request.name(), "0000:3b:00.2");
    reply.mutable_vf()->set_name(request.name());
    return Status::OK;
  };
  EXPECT_THAT(run(daemon.socket(), {"vf", "show", "0000:3b:00.2"}).out, HasSubstr("vf    0000:3b:00.2\n"));
  const Ran json = run(daemon.socket(), {"vf", "show", "0000:3b:00.2", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"name\":\"0000:3b:00.2\""));
  EXPECT_EQ(json.code, 0);
}

TEST(Session, completion_gets_only_words_that_a_shell_may_expand) {
  FakeDaemon daemon;
  daemon.list = [](const auto&, v1::ListReply& reply) {
    for (const char* id : {"vm1-x", "$(reboot)", "a b", ""}) reply.add_migrations()->set_id(id);
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"completion", "ids"}).out, "vm1-x\n");
}

TEST(Session, cancel_past_the_point_is_refused_with_the_reason) {
  FakeDaemon daemon;
  daemon.cancel = [](const v1::CancelRequest& request, v1::CancelReply&) {
    return Status(StatusCode::FAILED_PRECONDITION, request.id() + " is past the point of no return.");
  };
  const Ran ran = run(daemon.socket(), {"cancel", "vm1"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "rdmove: vm1 is past the point of no return.\n");
}

TEST(Session, resolve_without_a_word_shows_what_can_be_said) {
  FakeDaemon daemon;
  daemon.resolve = [](const v1::ResolveRequest& request, v1::ResolveReply& reply) {
    EXPECT_EQ(request.word(), "");
    reply.set_id(request.id());
    reply.set_predicament("hostb is silent.");
    reply.add_choices()->set_word("destination-is-dead");
    reply.mutable_choices(0)->set_consequence("It is resumed here.");
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"resolve", "vm1-x"}).out,
            "vm1-x: hostb is silent.\n  --destination-is-dead: It is resumed here.\n");
}

TEST(Session, resolve_brings_one_word_and_says_what_happens) {
  FakeDaemon daemon;
  daemon.resolve = [](const v1::ResolveRequest& request, v1::ResolveReply& reply) {
    reply.set_message(request.word() + (request.force() ? " by force" : ""));
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"resolve", "vm1", "--source-is-dead", "--force"}).out, "source-is-dead by force\n");
  EXPECT_EQ(run(daemon.socket(), {"resolve", "vm1", "--source-is-dead", "--runs-there"}).code, 2);
}

TEST(Session, timeline_draws_text_and_writes_svg) {
  FakeDaemon daemon;
  daemon.timeline = [](const auto&, v1::TimelineReply& reply) {
    *reply.mutable_migration() = finalOf("Completed").migration();
    v1::Span& span = *reply.add_spans();
    span.set_source("hosta departure");
    span.set_phase("Preflight");
    span.set_begin_us(1);
    span.set_end_us(250'001);
    return Status::OK;
  };
  EXPECT_THAT(run(daemon.socket(), {"timeline", "vm1"}).out, HasSubstr("250.0"));
  EXPECT_THAT(run(daemon.socket(), {"timeline", "vm1", "--svg", "-"}).out, testing::StartsWith("<svg "));
  EXPECT_THAT(run(daemon.socket(), {"timeline", "vm1", "--json"}).out, HasSubstr("\"end_us\":\"250001\""));
  const Ran bad = run(daemon.socket(), {"timeline", "vm1", "--svg", "/nonexistent/x.svg"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("cannot write /nonexistent/x.svg: No such file or directory."));
}

TEST(Session, agent_and_define_pass_on_what_was_typed) {
  FakeDaemon daemon;
  daemon.agent = [](const v1::QueryAgentRequest& request, v1::QueryAgentReply& reply) {
    reply.set_json("{\"method\": \"" + request.method() + "\"}");
    return Status::OK;
  };
  v1::DefineRequest seen;
  daemon.define = [&](const v1::DefineRequest& request, v1::DefineReply& reply) {
    seen = request;
    reply.set_metadata("<rdma/>");
    reply.set_live(true);
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"agent", "vm1", "holdouts"}).out, "method: holdouts\n");
  EXPECT_EQ(run(daemon.socket(), {"agent", "vm1", "status", "--json"}).out, "{\"method\":\"status\"}\n");
  EXPECT_EQ(run(daemon.socket(), {"define", "vm1", "--vf", "alias=ua-a,pool=f,mac=52:54:00:00:00:0A", "--vf",
                                  "alias=ua-b,pool=f", "--standby", "ua-net0", "--dry-run"})
                .out,
            "<rdma/>\n(live definition)\n");
  ASSERT_EQ(seen.vfs_size(), 2);
  EXPECT_EQ(seen.vfs(0).mac(), "52:54:00:00:00:0a");
  EXPECT_EQ(seen.vfs(1).model(), "");
  EXPECT_EQ(seen.standby(), "ua-net0");
  EXPECT_TRUE(seen.dry_run());
}

TEST(Session, the_daemons_word_on_an_agent_that_is_too_old_is_passed_on) {
  FakeDaemon daemon;
  const std::string sentence =
      "cannot ask the agent for apps: the guest's rdmove-agent is too old to know this request; update it in "
      "the guest.";
  daemon.agent = [&](const v1::QueryAgentRequest&, v1::QueryAgentReply&) {
    return Status(StatusCode::FAILED_PRECONDITION, sentence);
  };
  const Ran ran = run(daemon.socket(), {"agent", "vm1", "apps"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "rdmove: " + sentence + "\n");
}

TEST(Session, counters_are_watched_until_ctrl_c) {
  FakeDaemon daemon;
  std::atomic<int> packets = 0;
  daemon.agent = [&](const v1::QueryAgentRequest& request, v1::QueryAgentReply& reply) {
    EXPECT_EQ(request.method(), "counters");
    packets += 1000;
    reply.set_json(
        R"({"devices":[{"rdma":"rxe0","port":1,"data_of":"","counters":{},"traffic":{"packets_in":)" +
        std::to_string(packets) + "}}]}");
    return Status::OK;
  };
  const Ran ran =
      run(daemon.socket(), {"agent", "vm1", "counters", "--watch", "--json"}, [](const std::string& out) {
        if (std::count(out.begin(), out.end(), '\n') == 2) ::raise(SIGINT);
      });
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out,
              testing::StartsWith("{\"devices\":[{\"rdma\":\"rxe0\",\"port\":1,\"data_of\":\"\",\"traffic\":"
                                  "{\"packets_in\":1000}}]}\n{\"interval_s\":"));
  EXPECT_THAT(ran.out, HasSubstr("\"traffic\":{\"packets_in\":2000},\"per_second\":{\"packets_in\":"));
}

TEST(Session, an_agent_without_common_names_cannot_be_watched_and_is_shown_as_it_is) {
  FakeDaemon daemon;
  daemon.agent = [](const auto&, v1::QueryAgentReply& reply) {
    reply.set_json(R"({"devices":[{"rdma":"rxe0","port":1,"counters":{"sent_pkts":5}}]})");
    return Status::OK;
  };
  EXPECT_THAT(run(daemon.socket(), {"agent", "vm1", "counters"}).out, HasSubstr("sent_pkts"));
  const Ran ran = run(daemon.socket(), {"agent", "vm1", "counters", "--watch"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("the guest's rdmove-agent is too old to be watched"));
}

TEST(Session, doctor_exits_3_only_on_an_error) {
  FakeDaemon daemon;
  auto severity = v1::Finding::WARNING;
  daemon.doctor = [&](const v1::DoctorRequest&, v1::DoctorReply& reply) {
    reply.add_findings()->set_severity(severity);
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"doctor"}).code, 0);
  severity = v1::Finding::ERROR;
  EXPECT_EQ(run(daemon.socket(), {"doctor", "vm1", "hostb"}).code, 3);
}

}  // namespace
}  // namespace rdmove::cli
