#include "guestagent/agent/application_hub.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {
namespace {

using boost::asio::local::stream_protocol;
using nlohmann::json;
namespace words = protocol::application;

constexpr const char* registration =
    R"({"jsonrpc":"2.0","id":1,"method":"register","params":{"version":1,"name":"app"}})";

class HubTest : public testing::Test {
 protected:
  // Runs the loop until it has nothing to do: unix sockets deliver at once, so no time is waited.
  void settle() {
    io.restart();
    while (io.poll() > 0) io.restart();
  }

  struct Client {
    explicit Client(HubTest& t) : test(t), socket(t.io) {
      socket.connect(stream_protocol::endpoint((t.folder.path / "agent.sock").string()));
      socket.non_blocking(true);
      test.settle();
    }
    void say(const std::string& line) {
      boost::system::error_code error;
      boost::asio::write(socket, boost::asio::buffer(line + "\n"), error);
      test.settle();
    }
    void enroll() {
      say(registration);
      EXPECT_EQ(hear().at("result"), json({{"accepted", true}}));
    }
    json hear() {
      test.settle();
      char bytes[4096];
      boost::system::error_code error;
      const auto size = socket.read_some(boost::asio::buffer(bytes), error);
      if (error == boost::asio::error::eof) closed = true;
      pending.append(bytes, size);
      const auto end = pending.find('\n');
      if (end == std::string::npos) return {};
      auto line = json::parse(pending.substr(0, end));
      pending.erase(0, end + 1);
      return line;
    }
    void report(const json& more = json::object()) {
      json params{{"connections", 2}, {"up", 1}, {"state", "reconnecting"}, {"resent", 3}};
      params.update(more);
      say(json{{"jsonrpc", "2.0"}, {"method", "report"}, {"params", params}}.dump());
    }
    void release(const json& quiesce) {
      say(json{{"jsonrpc", "2.0"}, {"id", quiesce.at("id")}, {"result", {{"released", true}}}}.dump());
    }
    bool is_closed() {
      while (!hear().is_null()) {
      }
      return closed;
    }
    HubTest& test;
    stream_protocol::socket socket;
    std::string pending;
    bool closed = false;
  };

  void quiesce() {
    hub.quiesce(*protocol::MigrationId::parse("m1"), milliseconds(100), [this] { ++all_released; });
  }

  /// The others are served as if nothing had been: asked, heard, told.
  void expect_served(Client& good) {
    good.report({{"resent", 11}});
    const auto list = hub.list();
    EXPECT_TRUE(std::any_of(list.begin(), list.end(),
                            [](const auto& app) { return app.report && app.report->resent == 11; }));
    quiesce();
    const auto asked = good.hear();
    ASSERT_EQ(asked.at("method"), "quiesce");
    good.release(asked);
    EXPECT_EQ(hub.released().size(), 1U);
    hub.ready(*protocol::MigrationId::parse("m1"), {});
    EXPECT_EQ(good.hear().at("method"), "ready");
  }

  TemporaryFolder folder;
  boost::asio::io_context io{1};
  FakeTimers timers;
  ApplicationHub hub{io, timers, folder.path / "agent.sock"};
  int all_released = 0;
};

TEST_F(HubTest, asks_and_tells_the_registered) {
  Client a(*this), b(*this), stranger(*this);
  a.enroll();
  b.enroll();
  EXPECT_EQ(hub.count(), 2U);
  EXPECT_THAT(hub.pids(), testing::Each(::getpid())) << "by the kernel's word, not the application's";
  quiesce();
  const auto asked = a.hear();
  EXPECT_EQ(asked.at("method"), "quiesce");
  EXPECT_EQ(asked.at("params"), json({{"migration", "m1"}, {"deadline_ms", 100}}));
  a.release(asked);
  EXPECT_EQ(hub.unreleased().size(), 1U);
  EXPECT_EQ(all_released, 0);
  b.release(b.hear());
  EXPECT_EQ(all_released, 1);
  EXPECT_EQ(hub.released().size(), 2U);
  hub.removed();
  EXPECT_EQ(a.hear().at("method"), "removed");
  hub.ready(*protocol::MigrationId::parse("m1"), {"10.0.0.5/24"});
  EXPECT_EQ(a.hear().at("params"), json({{"migration", "m1"}, {"addresses", {"10.0.0.5/24"}}}));
  EXPECT_TRUE(stranger.hear().is_null());
}

TEST_F(HubTest, waits_for_nobody_when_nobody_is_there) {
  quiesce();
  EXPECT_EQ(all_released, 1);
}

TEST_F(HubTest, one_that_leaves_has_let_go) {
  auto a = std::make_unique<Client>(*this);
  a->enroll();
  quiesce();
  EXPECT_EQ(all_released, 0);
  a.reset();
  settle();
  EXPECT_EQ(all_released, 1);
  EXPECT_EQ(hub.count(), 0U);
}

TEST_F(HubTest, one_that_refuses_or_says_false_stays_unreleased) {
  Client a(*this), b(*this);
  a.enroll();
  b.enroll();
  quiesce();
  a.say(json{{"jsonrpc", "2.0"}, {"id", a.hear().at("id")}, {"result", {{"released", false}}}}.dump());
  b.say(json{{"jsonrpc", "2.0"}, {"id", b.hear().at("id")}, {"error", {{"code", -1}, {"message", "busy"}}}}
            .dump());
  EXPECT_EQ(hub.unreleased().size(), 2U);
  hub.resume();
  EXPECT_EQ(a.hear().at("method"), "resume");
  EXPECT_EQ(all_released, 0);
}

TEST_F(HubTest, asks_those_too_that_register_meanwhile) {
  quiesce();
  Client late(*this);
  late.enroll();
  EXPECT_EQ(late.hear().at("method"), "quiesce");
}

TEST_F(HubTest, a_late_answer_is_no_answer_to_the_next_quiesce) {
  Client a(*this);
  a.enroll();
  quiesce();
  const auto first = a.hear();
  hub.resume();
  a.hear();
  quiesce();
  const auto second = a.hear();
  a.release(first);
  EXPECT_EQ(all_released, 0);
  a.release(second);
  EXPECT_EQ(all_released, 1);
}

TEST_F(HubTest, lists_who_is_registered_with_the_kernels_pid_and_uid_and_their_report) {
  Client a(*this), stranger(*this);
  a.say(
      R"({"jsonrpc":"2.0","id":1,"method":"register","params":{"version":1,"name":"app","pid":1,"uid":0}})");
  a.hear();
  timers.advance(milliseconds(61'000));
  auto list = hub.list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0], (protocol::ApplicationInfo{::getpid(), "app", ::getuid(), 61, protocol::Hold::None, {}}))
      << "the pid in its message is ignored";
  a.report({{"last_blackout_ms", 71}, {"pid", 1}});
  EXPECT_EQ(hub.list()[0].pid, ::getpid());
  EXPECT_EQ(hub.list()[0].report,
            (words::Report{2, 1, words::ReportedState::Reconnecting, milliseconds(71), 3}));
  a.report({{"up", 2}, {"state", "up"}});
  EXPECT_EQ(hub.list()[0].report->up, 2U) << "the last word counts";
  EXPECT_EQ(hub.list()[0].report->last_blackout, std::nullopt);
}

TEST_F(HubTest, lists_where_each_stands_in_a_move) {
  Client a(*this), b(*this), c(*this);
  for (Client* client : {&a, &b, &c}) client->enroll();
  const auto holds = [&] {
    std::multiset<std::string_view> out;
    for (const auto& app : hub.list()) out.insert(protocol::to_text(app.hold));
    return out;
  };
  EXPECT_THAT(holds(), testing::ElementsAre("none", "none", "none"));
  quiesce();
  a.release(a.hear());
  b.say(json{{"jsonrpc", "2.0"}, {"id", b.hear().at("id")}, {"result", {{"released", false}}}}.dump());
  EXPECT_THAT(holds(), testing::ElementsAre("asked", "holding", "released"));
  EXPECT_EQ(hub.unreleased().size(), 2U) << "who holds is a holdout like who does not answer";
  hub.resume();
  EXPECT_THAT(holds(), testing::ElementsAre("none", "none", "none"));
}

TEST_F(HubTest, one_that_registers_twice_is_gone_and_the_others_are_served) {
  Client good(*this), twice(*this);
  good.enroll();
  twice.enroll();
  twice.say(registration);
  EXPECT_EQ(twice.hear().at("error").at("message"), "registered already");
  EXPECT_TRUE(twice.is_closed());
  EXPECT_EQ(hub.list().size(), 1U);
  expect_served(good);
}

TEST_F(HubTest, one_that_never_acknowledges_is_named_and_the_others_are_served) {
  Client good(*this), silent(*this);
  good.enroll();
  silent.enroll();
  expect_served(good);
  EXPECT_EQ(all_released, 0) << "not all have let go";
}

TEST_F(HubTest, one_that_dies_while_it_is_asked_holds_nobody_up) {
  Client good(*this);
  good.enroll();
  {
    Client dying(*this);
    dying.enroll();
    quiesce();
    good.release(good.hear());
    EXPECT_EQ(all_released, 0);
    dying.say(R"({"jsonrpc":"2.0","id":1,"res)");  // in the middle of a line
  }
  settle();
  EXPECT_EQ(all_released, 1);
  hub.resume();
  good.hear();
  expect_served(good);
}

TEST_F(HubTest, one_that_reports_too_often_is_gone_and_the_others_are_served) {
  Client good(*this), flooder(*this);
  good.enroll();
  flooder.enroll();
  for (int i = 1; i < LineBudget::burst; ++i) flooder.report();
  EXPECT_EQ(hub.count(), 2U) << "a burst is no flood";
  flooder.report();
  EXPECT_TRUE(flooder.is_closed());
  EXPECT_EQ(hub.list().size(), 1U);
  expect_served(good);
}

TEST_F(HubTest, one_that_floods_with_refusals_is_gone_and_the_others_are_served) {
  Client good(*this), flooder(*this);
  good.enroll();
  flooder.enroll();
  std::string refusals;
  for (int i = 0; i < LineBudget::burst; ++i)
    refusals += R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}})"
                "\n";
  flooder.say(refusals);
  EXPECT_TRUE(flooder.is_closed());
  expect_served(good);
}

TEST_F(HubTest, one_that_floods_without_a_newline_is_gone_and_the_others_are_served) {
  Client good(*this), flooder(*this);
  good.enroll();
  flooder.enroll();
  flooder.say(std::string(100'000, 'x'));
  EXPECT_TRUE(flooder.is_closed());
  expect_served(good);
}

TEST_F(HubTest, who_reports_at_the_allowed_rate_may_do_so_for_ever) {
  Client a(*this);
  a.enroll();
  for (int i = 0; i < 500; ++i) {
    a.report();
    timers.advance(LineBudget::cost);
  }
  EXPECT_EQ(hub.count(), 1U);
}

class HubCloses : public HubTest, public testing::WithParamInterface<std::string> {};

TEST_P(HubCloses, who_says_something_else) {
  Client good(*this), bad(*this);
  good.enroll();
  bad.say(GetParam());
  EXPECT_TRUE(bad.is_closed());
  EXPECT_EQ(hub.count(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Words, HubCloses,
    testing::Values(
        "garbage", std::string(5000, 'x'), std::string(registration) + "\n" + registration,
        R"({"jsonrpc":"2.0","id":1,"method":"status"})", R"({"jsonrpc":"2.0","method":"ready","params":{}})",
        R"({"jsonrpc":"2.0","method":"report","params":{"connections":1,"up":1,"state":"up","resent":0}})",
        std::string(registration) +
            R"(
{"jsonrpc":"2.0","method":"report","params":{"connections":1,"up":2,"state":"up","resent":0}})",
        R"({"jsonrpc":"2.0","id":99,"result":{"released":true}})",
        R"({"jsonrpc":"2.0","id":1,"method":"register","params":{"version":2,"name":"a"}})",
        R"({"jsonrpc":"2.0","id":1,"method":"register","params":{"version":1}})"));

TEST_F(HubTest, one_that_never_reads_is_closed_and_costs_the_others_nothing) {
  Client hung(*this), good(*this);
  hung.enroll();
  good.enroll();
  const std::vector<std::string> addresses(500, std::string(60, 'a'));
  for (int i = 0; i < 60 && hub.count() == 2; ++i) {
    hub.ready(*protocol::MigrationId::parse("m1"), addresses);
    for (int reads = 0; reads < 40; ++reads) good.hear();
  }
  EXPECT_EQ(hub.count(), 1U);
  expect_served(good);
}

TEST_F(HubTest, bounds_the_number_of_connections) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root, who is exempt from the limit per user";
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < ApplicationHub::max_clients; ++i)
    clients.push_back(std::make_unique<Client>(*this));
  Client one_more(*this);
  EXPECT_TRUE(one_more.is_closed());
  clients.pop_back();
  settle();
  Client now(*this);
  now.enroll();
}

}  // namespace
}  // namespace rdmove::agent::test
