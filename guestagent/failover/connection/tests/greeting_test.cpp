// What a layer above says with each call after the first.
#include "guestagent/failover/connection/tests/two_machines.hpp"

namespace rdmove::failover::conn::fake {
namespace {

using std::chrono::milliseconds;

class Greetings : public Greeter {
 public:
  explicit Greetings(std::string word) : word_(std::move(word)) {}
  std::vector<std::byte> greeting(std::span<const std::byte> to) override {
    asked.push_back(text(to));
    const auto bytes = std::as_bytes(std::span(word_));
    return {bytes.begin(), bytes.end()};
  }
  void greeted(std::span<const std::byte> by) override { heard.push_back(text(by)); }
  std::vector<std::string> asked;
  std::vector<std::string> heard;

 private:
  static std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  const std::string word_;
};

class TwoThatGreet : public TwoMachines {
 protected:
  void bring_up_with(Greeter* one, Greeter* other) {
    bring_up();
    if (one) a->hub.for_each([&](ConnectionCore& core) { core.greet_by(*one); });
    if (other) b->hub.for_each([&](ConnectionCore& core) { core.greet_by(*other); });
  }
  using Words = std::vector<std::string>;
};

TEST_F(TwoThatGreet, each_hears_the_other_at_each_return_whoever_calls) {
  Greetings one("sixteen bytes, a");
  Greetings other("sixteen bytes, b");
  bring_up_with(&one, &other);
  a->port.remove_device();
  run(milliseconds(100));
  a->port.add_device();
  a->hub.way_appeared();
  run(milliseconds(100));
  EXPECT_EQ(one.heard, Words{"sixteen bytes, b"});
  EXPECT_EQ(other.heard, Words{"sixteen bytes, a"});
  EXPECT_EQ(other.asked, Words{"sixteen bytes, a"}) << "an answer knows what it answers";
  callee->connection->restart();
  run(milliseconds(100));
  EXPECT_EQ(one.heard.size(), 2U);
  EXPECT_EQ(other.heard.size(), 2U);
  EXPECT_EQ(one.asked, (Words{"", "sixteen bytes, b"}));
  expect_traffic();
}

// One of an older version, and one that does without this time.
TEST_F(TwoThatGreet, nobody_is_greeted_who_has_not_greeted) {
  Greetings one("a");
  bring_up_with(&one, nullptr);
  caller->connection->restart();
  run(milliseconds(100));
  callee->connection->restart();
  run(milliseconds(100));
  EXPECT_EQ(one.asked, Words{""}) << "nothing was said that could be answered";
  EXPECT_EQ(one.heard, Words{});
  Greetings silent("");
  b->hub.for_each([&](ConnectionCore& core) { core.greet_by(silent); });
  caller->connection->restart();
  run(milliseconds(100));
  callee->connection->restart();
  run(milliseconds(100));
  EXPECT_EQ(silent.asked, (Words{"a", ""}));
  EXPECT_EQ(one.heard, Words{});
  EXPECT_EQ(silent.heard, Words{});
  EXPECT_EQ(callee->ups, 5);
}

TEST_F(TwoThatGreet, a_call_whose_answer_got_lost_has_said_nothing) {
  Greetings one("a");
  Greetings other("b");
  bring_up_with(&one, &other);
  fabric.lose_answers = 1;
  caller->connection->restart();
  run(milliseconds(5'000));
  EXPECT_EQ(caller->connection->state(), ConnectionState::Up);
  EXPECT_EQ(one.heard, Words{"b"});
  EXPECT_EQ(other.heard, Words{"a"});
  EXPECT_EQ(one.asked.size(), 2U) << "each call has words of its own";
}

}  // namespace
}  // namespace rdmove::failover::conn::fake
