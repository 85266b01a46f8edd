// Against an agent's end of the socket that says what the test wants.
#include "guestagent/failover/connection/agent_line.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "guestagent/failover/connection/tests/fake_world.hpp"

namespace rdmove::failover::conn {
namespace {

class FakeAgent {
 public:
  FakeAgent() {
    std::array<char, 32> pattern{"/tmp/agent-line-XXXXXX"};
    folder_ = mkdtemp(pattern.data());
    path = folder_ + "/agent.sock";
  }
  ~FakeAgent() {
    stop();
    rmdir(folder_.c_str());
  }
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  void start() {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listener_, 4), 0);
  }
  void stop() {
    hang_up();
    if (listener_ >= 0) close(std::exchange(listener_, -1));
    unlink(path.c_str());
  }
  void accept() { line_ = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }
  void hang_up() {
    if (line_ >= 0) close(std::exchange(line_, -1));
  }
  void say(const std::string& line) const {
    ASSERT_GT(write(line_, (line + "\n").data(), line.size() + 1), 0);
  }
  [[nodiscard]] std::string hear() const {
    std::array<char, 4096> buffer{};
    const auto size = read(line_, buffer.data(), buffer.size());
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
  }

  std::string path;

 private:
  std::string folder_;
  int listener_ = -1;
  int line_ = -1;
};

class Line : public testing::Test, protected AgentListener {
 protected:
  void SetUp() override { ASSERT_TRUE(poller_.open()); }
  void register_now() {
    agent_.start();
    line_.start();
    agent_.accept();
    heard_ = agent_.hear();
    agent_.say(R"({"jsonrpc":"2.0","id":1,"result":{"accepted":true}})");
    poller_.dispatch(0);
  }
  void say(const std::string& line) {
    agent_.say(line);
    poller_.dispatch(0);
  }

  void asked_to_quiesce(Milliseconds time) override {
    told_.push_back("quiesce " + std::to_string(time.count()));
  }
  void device_unplugged() override { told_.emplace_back("unplugged"); }
  void device_is_back() override { told_.emplace_back("back"); }
  void agent_lost() override { told_.emplace_back("lost"); }

  FakeAgent agent_;
  fake::ManualClock clock_;
  Poller poller_;
  TimerQueue timers_;
  AgentLine line_{agent_.path, "test", poller_, timers_, clock_, *this};
  std::string heard_;
  std::vector<std::string> told_;
};

TEST_F(Line, registers_with_name_and_version) {
  register_now();
  EXPECT_NE(heard_.find(R"("method":"register")"), std::string::npos) << heard_;
  EXPECT_NE(heard_.find(R"("name":"test")"), std::string::npos);
  EXPECT_NE(heard_.find(R"("version":1)"), std::string::npos);
  EXPECT_TRUE(line_.is_registered());
}

TEST_F(Line, only_the_agents_word_registers) {
  agent_.start();
  line_.start();
  agent_.accept();
  for (const char* answer :
       {R"({"jsonrpc":"2.0","id":2,"result":{"accepted":true}})",
        R"({"jsonrpc":"2.0","id":"1","result":{"accepted":true}})",
        R"({"jsonrpc":"2.0","id":1,"result":{"accepted":false}})", R"({"jsonrpc":"2.0","id":1,"result":[]})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32014,"message":"no"}})"}) {
    say(answer);
    EXPECT_FALSE(line_.is_registered()) << answer;
  }
  say(R"({"jsonrpc":"2.0","id":1,"result":{"accepted":true}})");
  EXPECT_TRUE(line_.is_registered());
}

TEST_F(Line, answers_a_quiesce_once_and_only_when_released) {
  register_now();
  say(R"({"jsonrpc":"2.0","id":7,"method":"quiesce","params":{"migration":"m-1","deadline_ms":2000}})");
  EXPECT_EQ(told_, std::vector<std::string>{"quiesce 2000"});
  EXPECT_EQ(agent_.hear(), "");
  line_.released();
  line_.released();
  const auto answer = agent_.hear();
  EXPECT_NE(answer.find(R"("released":true)"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("id":7)"), std::string::npos);
  EXPECT_EQ(std::count(answer.begin(), answer.end(), '\n'), 1);
}

TEST_F(Line, ready_and_resume_both_mean_that_the_device_is_there) {
  register_now();
  say(R"({"jsonrpc":"2.0","method":"removed","params":{}})");
  say(R"({"jsonrpc":"2.0","method":"ready","params":{"migration":"m-1","addresses":["10.0.0.1/24"]}})");
  say(R"({"jsonrpc":"2.0","method":"resume","params":{}})");
  EXPECT_EQ(told_, (std::vector<std::string>{"unplugged", "back", "back"}));
}

TEST_F(Line, an_answer_after_the_move_was_called_off_is_not_given) {
  register_now();
  say(R"({"jsonrpc":"2.0","id":7,"method":"quiesce","params":{"migration":"m-1","deadline_ms":2000}})");
  say(R"({"jsonrpc":"2.0","method":"resume","params":{}})");
  line_.released();
  EXPECT_EQ(agent_.hear(), "");
}

TEST_F(Line, an_agent_that_leaves_is_told_and_one_that_comes_is_found) {
  register_now();
  agent_.stop();
  poller_.dispatch(0);
  EXPECT_EQ(told_, std::vector<std::string>{"lost"});
  agent_.start();
  clock_.advance(std::chrono::seconds(2));
  timers_.run_due(clock_.now());
  agent_.accept();
  EXPECT_NE(agent_.hear().find("register"), std::string::npos);
}

TEST_F(Line, nonsense_is_answered_and_changes_nothing) {
  register_now();
  say("}{");
  say(R"({"jsonrpc":"2.0","id":8,"method":"dance","params":{}})");
  say(R"({"jsonrpc":"2.0","id":9,"method":"quiesce","params":{"deadline_ms":"soon"}})");
  const auto answers = agent_.hear();
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 3) << answers;
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(line_.is_registered());
}

}  // namespace
}  // namespace rdmove::failover::conn
