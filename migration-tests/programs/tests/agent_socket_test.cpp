#include "../agent_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace beat {
namespace {

// The agent's end. Everything is on one machine and non-blocking on our side, so each step is done when it
// returns.
class AgentSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = std::string(folder_.data()) + "/agent.sock";
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    ASSERT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener_, 1), 0);
  }
  void TearDown() override {
    if (agent_ >= 0) close(agent_);
    close(listener_);
    unlink(path_.c_str());
    rmdir(folder_.data());
  }
  void meet(AgentSocket& application) {
    application.try_connect("rdma-beat");
    agent_ = accept(listener_, nullptr, nullptr);
    ASSERT_GE(agent_, 0);
  }
  std::string heard() {
    std::array<char, 4096> buffer;
    const ssize_t size = recv(agent_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  void say(const std::string& text) {
    ASSERT_EQ(send(agent_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }

  std::array<char, 32> folder_{"/tmp/beat-test-XXXXXX"};
  std::string path_;
  int listener_ = -1;
  int agent_ = -1;
};

TEST_F(AgentSocketTest, no_agent_is_no_error) {
  AgentSocket application("/nonexistent/agent.sock");
  application.try_connect("rdma-beat");
  EXPECT_EQ(application.fd(), -1);
  EXPECT_TRUE(application.read_messages().empty());
}

TEST_F(AgentSocketTest, registers_when_it_connects) {
  AgentSocket application(path_);
  meet(application);
  EXPECT_EQ(heard(),
            R"({"id":1,"jsonrpc":"2.0","method":"register","params":{"name":"rdma-beat","version":1}})"
            "\n");
}

TEST_F(AgentSocketTest, answers_a_quiesce_under_its_id) {
  AgentSocket application(path_);
  meet(application);
  heard();
  say(R"({"jsonrpc":"2.0","id":"q-7","method":"quiesce","params":{"migration":"m","deadline_ms":2000}})"
      "\n");
  const auto messages = application.read_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].word, AgentWord::Quiesce);
  application.answer_released(messages[0].id);
  EXPECT_EQ(heard(), R"({"jsonrpc":"2.0","id":"q-7","result":{"released":true}})"
                     "\n");
}

TEST_F(AgentSocketTest, a_line_in_pieces_is_one_message_and_rubbish_is_none) {
  AgentSocket application(path_);
  meet(application);
  say("rubbish\n{\"jsonrpc\":\"2.0\",\"method\":\"rea");
  EXPECT_TRUE(application.read_messages().empty());
  say("dy\",\"params\":{\"addresses\":[]}}\n");
  const auto messages = application.read_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].word, AgentWord::Ready);
}

TEST_F(AgentSocketTest, the_agents_end_is_told_once) {
  AgentSocket application(path_);
  meet(application);
  heard();
  close(agent_);
  agent_ = -1;
  const auto messages = application.read_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].word, AgentWord::Lost);
  EXPECT_EQ(application.fd(), -1);
}

}  // namespace
}  // namespace beat
