#include "guestagent/agent/application_hub.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

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

  TemporaryFolder folder;
  boost::asio::io_context io{1};
  ApplicationHub hub{io, folder.path / "agent.sock"};
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
    testing::Values("garbage", std::string(5000, 'x'), std::string(registration) + "\n" + registration,
                    R"({"jsonrpc":"2.0","id":1,"method":"status"})",
                    R"({"jsonrpc":"2.0","method":"ready","params":{}})",
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
  quiesce();
  EXPECT_EQ(hub.unreleased().size(), 1U);
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
