// Migrations as they go, and what a scrape then says.
#include "coordinator/service/metrics.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rdmove {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class SetClock : public Clock {
 public:
  Moment now() const override { return {time, {}}; }
  std::string bootId() const override { return "boot"; }
  std::chrono::nanoseconds time{0};
};

class MetricsTest : public testing::Test {
 protected:
  void tell(const std::string& phase, Outcome outcome = Outcome::kRunning,
            const std::string& partner_phase = "", Role role = Role::kDeparture) {
    Update update;
    update.record.id = MigrationId("vm1-x");
    update.record.role = role;
    update.record.phase = phase;
    update.record.outcome = outcome;
    update.partner_phase = partner_phase;
    bulletin.publish(update);
  }
  void pass(milliseconds time) { clock.time += time; }
  std::string counted() { return prometheus::TextSerializer().Serialize(metrics.counted()->Collect()); }
  std::string looked() { return prometheus::TextSerializer().Serialize(metrics.looked()->Collect()); }

  Bulletin bulletin;
  SetClock clock;
  Result<HostCounts> counts = HostCounts{};
  Metrics metrics{bulletin, clock, [this] { return counts; }};
};

TEST_F(MetricsTest, a_migration_counts_once_by_its_end_and_each_phase_by_its_time) {
  tell("Preflight");
  pass(milliseconds(120));
  tell("Reserving");
  tell("Reserving");  // progress
  pass(milliseconds(3));
  tell("Reserving", Outcome::kRefused);
  tell("Reserving", Outcome::kRefused);
  const std::string text = counted();
  EXPECT_THAT(text, HasSubstr("rdmove_migrations_total{outcome=\"Refused\",role=\"departure\"} 1"));
  EXPECT_THAT(text, HasSubstr("rdmove_phase_seconds_count{phase=\"Preflight\",role=\"departure\"} 1"));
  EXPECT_THAT(text, HasSubstr("rdmove_phase_seconds_sum{phase=\"Preflight\",role=\"departure\"} 0.12"));
  EXPECT_THAT(
      text, HasSubstr("rdmove_phase_seconds_bucket{phase=\"Reserving\",role=\"departure\",le=\"0.005\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("rdmove_blackout_seconds_count")));
}

TEST_F(MetricsTest, the_blackout_ends_as_the_partner_has_the_guest_whole) {
  tell("Unplugging");
  pass(milliseconds(1500));
  tell("Handover", Outcome::kRunning, "Plugging");
  pass(milliseconds(500));
  tell("Handover", Outcome::kRunning, "Verifying");
  pass(milliseconds(9000));
  tell("Handover", Outcome::kRunning, "Verifying");
  EXPECT_THAT(counted(), HasSubstr("rdmove_blackout_seconds_count{back_on=\"destination\"} 1"));
  EXPECT_THAT(counted(), HasSubstr("rdmove_blackout_seconds_sum{back_on=\"destination\"} 2"));
}

TEST_F(MetricsTest, or_as_the_source_has_it_back) {
  tell("Unplugging");
  pass(milliseconds(700));
  tell("Replugging");
  tell("Withdrawing");
  EXPECT_THAT(counted(), HasSubstr("rdmove_blackout_seconds_sum{back_on=\"source\"} 0.7"));
}

TEST_F(MetricsTest, degraded_counts_once_a_migration_however_often_it_is_said) {
  tell("Plugging", Outcome::kDegraded, "", Role::kArrival);
  tell("Plugging", Outcome::kDegraded, "", Role::kArrival);
  tell("Verifying", Outcome::kDegraded, "", Role::kArrival);
  EXPECT_THAT(counted(), HasSubstr("rdmove_degraded_total{role=\"arrival\"} 1"));
}

TEST_F(MetricsTest, the_host_is_looked_at_when_it_is_read) {
  counts->leases["fabric"] = 2;
  counts->unfinished[{"arrival", "Running"}] = 1;
  counts->agents = 3;
  EXPECT_THAT(looked(), HasSubstr("rdmove_leases{pool=\"fabric\"} 2"));
  EXPECT_THAT(looked(), HasSubstr("rdmove_unfinished_migrations{role=\"arrival\",state=\"Running\"} 1"));
  EXPECT_THAT(looked(), HasSubstr("rdmove_agent_links 3"));
  counts = failure(ErrorCode::kCancelled, "", "the daemon is stopping");
  EXPECT_EQ(looked(), "");
}

TEST_F(MetricsTest, are_served_over_http_and_a_taken_address_is_said) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  socklen_t size = sizeof(address);
  getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string where = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto refused = MetricsServer::open(where, metrics);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().sentence(), HasSubstr(where));
  close(taken);

  const auto server = MetricsServer::open(where, metrics);
  ASSERT_TRUE(server) << server.error().sentence();
  tell("Preflight");
  tell("Preflight", Outcome::kRefused);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  ASSERT_EQ(write(client, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char piece[4096];
  for (ssize_t got; (got = read(client, piece, sizeof(piece))) > 0;)
    answer.append(piece, static_cast<std::size_t>(got));
  close(client);
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("rdmove_migrations_total{outcome=\"Refused\",role=\"departure\"} 1"));
}

}  // namespace
}  // namespace rdmove
