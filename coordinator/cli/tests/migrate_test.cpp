#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "coordinator/cli/tests/fake_daemon.hpp"

namespace rdmove::cli {
namespace {

using grpc::Status;
using grpc::StatusCode;
using testing::HasSubstr;

/// A migrate that sends these updates and ends its stream with this status.
auto sends(std::vector<v1::MigrationUpdate> updates, Status status = Status::OK) {
  return [updates = std::move(updates), status](grpc::ServerContext&, const auto&, FakeDaemon::Updates& out) {
    for (const auto& update : updates) out.Write(update);
    return status;
  };
}

struct OutcomeCase {
  std::string outcome;
  int code;
};

void PrintTo(const OutcomeCase& c, std::ostream* out) {
  *out << c.outcome;
}

/// Ctrl-C, once, when rdmove has shown this. Not from the daemon's side: a cancelled stream drops what was
/// not read yet.
auto ctrlCAfter(const std::string& shown) {
  return [shown, done = false](const std::string& output) mutable {
    if (done || output.find(shown) == std::string::npos) return;
    done = true;
    ::kill(::getpid(), SIGINT);
  };
}

class Outcomes : public testing::TestWithParam<OutcomeCase> {};

TEST_P(Outcomes, decide_the_exit_code_and_where_the_sentence_goes) {
  FakeDaemon daemon;
  daemon.migrate = sends({updateOf("Preflight"), finalOf(GetParam().outcome, "It ended so.")});
  const Ran ran = run(daemon.socket(), {"migrate", "vm1", "hostb"});
  EXPECT_EQ(ran.code, GetParam().code);
  EXPECT_EQ(ran.out, GetParam().code == 0 ? "It ended so. migration vm1-x\n" : "");
  EXPECT_EQ(ran.err, GetParam().code == 0 ? "" : "rdmove: It ended so. migration vm1-x\n");
}

INSTANTIATE_TEST_SUITE_P(All, Outcomes,
                         testing::Values(OutcomeCase{"Completed", 0}, OutcomeCase{"Refused", 3},
                                         OutcomeCase{"RolledBack", 4}, OutcomeCase{"Degraded", 5}));

TEST(Migrate, options_reach_the_daemon) {
  FakeDaemon daemon;
  v1::MigrateRequest seen;
  daemon.migrate = [&](grpc::ServerContext&, const v1::MigrateRequest& request, FakeDaemon::Updates& out) {
    seen = request;
    out.Write(finalOf("Completed"));
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(),
                      {"migrate", "vm1", "hostb", "--timeout", "60", "--bandwidth", "500",
                       "--parallel-connections", "4", "--postcopy", "--auto-converge", "--copy-storage-all",
                       "--tls", "--migrateuri", "tcp://b:1", "--force", "--prepare-deadline", "1500"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(seen.domain(), "vm1");
  EXPECT_EQ(seen.destination(), "hostb");
  const v1::MigrateOptions& o = seen.options();
  EXPECT_EQ(o.timeout_ms(), 60'000U);
  EXPECT_EQ(o.bandwidth_mib(), 500U);
  EXPECT_EQ(o.parallel_connections(), 4U);
  EXPECT_TRUE(o.postcopy() && o.auto_converge() && o.copy_storage_all() && o.tls() && o.force());
  EXPECT_EQ(o.migrate_uri(), "tcp://b:1");
  EXPECT_EQ(o.prepare_deadline_ms(), 1500U);
}

TEST(Migrate, verbose_shows_the_phases_and_json_shows_the_updates) {
  FakeDaemon daemon;
  daemon.migrate =
      sends({updateOf("Preflight"), updateOf("Preparing", "asking the agent"), finalOf("Completed")});
  EXPECT_EQ(run(daemon.socket(), {"migrate", "vm1", "hostb", "--verbose"}).out,
            "vm1-x  Preflight\nvm1-x  Preparing  asking the agent\nvm1 runs on hostb. migration vm1-x\n");
  const Ran json = run(daemon.socket(), {"migrate", "vm1", "hostb", "--json"});
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 3);
  EXPECT_THAT(json.out, testing::EndsWith("\"final\":true}\n"));
}

TEST(Migrate, a_refusal_before_the_start_is_the_daemons_sentence) {
  FakeDaemon daemon;
  daemon.migrate =
      sends({}, Status(StatusCode::NOT_FOUND, "There is no domain vm9. 'virsh list --all' names them."));
  const Ran ran = run(daemon.socket(), {"migrate", "vm9", "hostb"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "rdmove: There is no domain vm9. 'virsh list --all' names them.\n");
}

TEST(Migrate, a_stream_that_breaks_midway_names_the_migration_and_how_to_go_on) {
  for (const Status& end : {Status(StatusCode::UNAVAILABLE, "Socket closed"), Status::OK,
                            Status(StatusCode::FAILED_PRECONDITION, "going down")}) {
    FakeDaemon daemon;
    daemon.migrate = sends({updateOf("Transferring")}, end);
    const Ran ran = run(daemon.socket(), {"migrate", "vm1", "hostb"});
    EXPECT_EQ(ran.code, 6);
    EXPECT_THAT(ran.err, HasSubstr("migration vm1-x goes on. See it with 'rdmove watch vm1-x'"));
  }
}

TEST(Migrate, a_daemon_that_dies_midway_is_lost_contact) {
  FakeDaemon daemon;
  std::thread killer;
  daemon.migrate = [&](grpc::ServerContext& context, const auto&, FakeDaemon::Updates& out) {
    out.Write(updateOf("Transferring"));
    while (!context.IsCancelled()) std::this_thread::yield();
    return Status::CANCELLED;
  };
  const Ran ran = run(daemon.socket(), {"migrate", "vm1", "hostb", "--verbose"}, [&](const std::string&) {
    if (!killer.joinable()) killer = std::thread([&] { daemon.die(); });
  });
  killer.join();
  EXPECT_EQ(ran.code, 6);
  EXPECT_THAT(ran.err, HasSubstr("lost contact with rdmoved"));
  EXPECT_THAT(ran.err, HasSubstr("rdmove watch vm1-x"));
}

TEST(Migrate, ctrl_c_says_that_it_goes_on_and_how_to_cancel) {
  FakeDaemon daemon;
  daemon.migrate = [&](grpc::ServerContext& context, const auto&, FakeDaemon::Updates& out) {
    out.Write(updateOf("Transferring"));
    while (!context.IsCancelled()) std::this_thread::yield();
    return Status::CANCELLED;
  };
  const Ran ran = run(daemon.socket(), {"migrate", "vm1", "hostb", "--verbose"}, ctrlCAfter("Transferring"));
  EXPECT_EQ(ran.code, 6);
  EXPECT_THAT(ran.err, HasSubstr("interrupted; migration vm1-x goes on."));
  EXPECT_THAT(ran.err, HasSubstr("'rdmove cancel vm1-x'"));
}

TEST(Migrate, a_dry_run_prints_the_reasons_and_starts_nothing) {
  FakeDaemon daemon;
  v1::Finding::Severity severity = v1::Finding::ERROR;
  daemon.examine = [&](const v1::MigrateRequest& request, v1::ExamineReply& reply) {
    EXPECT_EQ(request.destination(), "hostb");
    reply.add_findings()->set_severity(severity);
    return Status::OK;
  };
  daemon.migrate = [](auto&, const auto&, auto&) {
    ADD_FAILURE() << "it started";
    return Status::OK;
  };
  EXPECT_EQ(run(daemon.socket(), {"migrate", "vm1", "hostb", "--dry-run"}).code, 3);
  severity = v1::Finding::WARNING;
  EXPECT_EQ(run(daemon.socket(), {"migrate", "vm1", "hostb", "--dry-run", "--json"}).code, 0);
}

TEST(Watch, one_ends_with_it_and_all_end_with_ctrl_c) {
  FakeDaemon daemon;
  daemon.watch = [](grpc::ServerContext& context, const v1::WatchRequest& request, FakeDaemon::Updates& out) {
    out.Write(updateOf("Transferring"));
    out.Write(finalOf("RolledBack", "vm1 stays"));
    if (!request.id().empty()) return Status::OK;
    while (!context.IsCancelled()) std::this_thread::yield();
    return Status::CANCELLED;
  };
  const Ran one = run(daemon.socket(), {"watch", "vm1"});
  EXPECT_EQ(one.code, 4);
  EXPECT_EQ(one.err, "rdmove: vm1 stays. migration vm1-x\n");
  const Ran all = run(daemon.socket(), {"watch"}, ctrlCAfter("vm1 stays"));
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("vm1 stays. migration vm1-x\n"));
}

TEST(Prepare, ends_well_as_the_vm_is_ready_and_says_what_comes_next) {
  FakeDaemon daemon;
  v1::PrepareRequest asked;
  daemon.prepare = [&asked](grpc::ServerContext&, const v1::PrepareRequest& request,
                            FakeDaemon::Updates& out) {
    asked = request;
    out.Write(updateOf("Unplugging"));
    v1::MigrationUpdate ready = updateOf("Prepared", "vm1 is prepared for hostb");
    ready.set_final(true);
    out.Write(ready);
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"prepare", "vm1", "hostb", "--hold", "90s", "--force"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "vm1 is prepared for hostb. migration vm1-x\n");
  EXPECT_EQ(asked.hold_ms(), 90000U);
  EXPECT_TRUE(asked.force());
}

TEST(Prepare, that_rolls_back_exits_as_a_migration_that_does) {
  FakeDaemon daemon;
  daemon.prepare = [](grpc::ServerContext&, const v1::PrepareRequest&, FakeDaemon::Updates& out) {
    out.Write(finalOf("RolledBack", "pid 7 holds rxe0"));
    return Status::OK;
  };
  const Ran ran = run(daemon.socket(), {"prepare", "vm1", "hostb"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, HasSubstr("pid 7 holds rxe0"));
}

}  // namespace
}  // namespace rdmove::cli
