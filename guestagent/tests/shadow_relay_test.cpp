// The agent between shadows: who gets which question, who may ask, and who hears that nobody is there.
#include "guestagent/agent/shadow_relay.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "guestagent/agent/gid_address.hpp"
#include "guestagent/tests/fakes.hpp"
#include "shadowdev/device/peer_message.hpp"

namespace rdmove::agent::test {
namespace {

using boost::asio::ip::tcp;
using boost::asio::local::stream_protocol;
using shadow::Frame;
using shadow::FrameKind;
using shadow::Said;

// Tests run beside each other.
const auto port = static_cast<std::uint16_t>(20'000 + ::getpid() % 20'000);

ibv_gid gid(const char* address) {
  ibv_gid gid{};
  const auto bytes = gid_of(boost::asio::ip::make_address(address));
  std::copy(bytes.begin(), bytes.end(), gid.raw);
  return gid;
}

std::vector<std::byte> question() {
  return encode(shadow::Question{shadow::Ask::Meet, 17, 18, 1, 17, 0, {}});
}

std::vector<std::byte> says(Said said) {
  shadow::Answer answer;
  answer.said = said;
  return encode(answer);
}

/// Somebody at the other end of a stream of frames.
template <class Socket>
struct Speaker {
  Speaker(boost::asio::io_context& on, Socket with) : io(on), socket(std::move(with)) {}
  void say(const Frame& frame) { boost::asio::write(socket, boost::asio::buffer(encode(frame))); }
  /// Runs the agent until a frame has come; nothing if the connection was ended.
  std::optional<Frame> hear() {
    socket.non_blocking(true);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
      if (auto frame = splitter.next()) return frame;
      io.restart();
      io.run_one_for(std::chrono::milliseconds(20));
      std::byte bytes[4096];
      boost::system::error_code error;
      const auto size = socket.read_some(boost::asio::buffer(bytes), error);
      if (error && error != boost::asio::error::would_block) return std::nullopt;
      EXPECT_TRUE(splitter.push({bytes, size}));
    }
    ADD_FAILURE() << "nothing came";
    return std::nullopt;
  }
  void here(const ibv_gid& mine) {
    Frame frame;
    frame.kind = FrameKind::Here;
    frame.to = mine;
    say(frame);
  }
  void ask(std::uint32_t id, const ibv_gid& from, const ibv_gid& to) {
    say(Frame{FrameKind::Question, id, from, to, question()});
  }
  boost::asio::io_context& io;
  Socket socket;
  shadow::FrameSplitter splitter;
};

class RelayTest : public testing::Test {
 protected:
  using Process = Speaker<stream_protocol::socket>;
  using Guest = Speaker<tcp::socket>;

  std::unique_ptr<Process> process(const ibv_gid& with) {
    stream_protocol::socket socket(io);
    socket.connect(stream_protocol::endpoint((folder.path / "shadow.sock").string()));
    auto one = std::make_unique<Process>(io, std::move(socket));
    one->here(with);
    settle();
    return one;
  }
  std::unique_ptr<Guest> guest(const char* from) {
    tcp::socket socket(io, tcp::v4());
    socket.bind(tcp::endpoint(boost::asio::ip::make_address(from), 0));
    socket.connect(tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), port));
    return std::make_unique<Guest>(io, std::move(socket));
  }
  void settle() {
    io.restart();
    while (io.poll() > 0) io.restart();
  }

  TemporaryFolder folder;
  boost::asio::io_context io;
  const ibv_gid ours = gid("127.0.0.1"), other = gid("127.0.0.2"), theirs = gid("127.0.0.3");
};

TEST_F(RelayTest, processesOfOneGuestAskEachOther) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours), answers = process(other);
  asks->ask(7, ours, other);
  const auto heard = answers->hear();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->kind, FrameKind::Question);
  EXPECT_EQ(heard->payload, question());
  answers->say(Frame{FrameKind::Answer, heard->id, {}, {}, says(Said::Yes)});
  const auto answer = asks->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 7U);
  EXPECT_EQ(answer->payload, says(Said::Yes));
}

TEST_F(RelayTest, ofSeveralProcessesTheOneThatKnowsIsHeard) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours), first = process(other), second = process(other);
  asks->ask(7, ours, other);
  const auto one = first->hear(), two = second->hear();
  ASSERT_TRUE(one && two);
  first->say(Frame{FrameKind::Answer, one->id, {}, {}, says(Said::NotThere)});
  second->say(Frame{FrameKind::Answer, two->id, {}, {}, says(Said::NotYet)});
  const auto answer = asks->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->payload, says(Said::NotYet));
}

TEST_F(RelayTest, anAnswerOfSomebodyWhoWasNotAskedIsNotHeard) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours), answers = process(other), stranger = process(theirs);
  asks->ask(7, ours, other);
  const auto heard = answers->hear();
  ASSERT_TRUE(heard);
  stranger->say(Frame{FrameKind::Answer, heard->id, {}, {}, says(Said::NotThere)});
  settle();
  answers->say(Frame{FrameKind::Answer, heard->id, {}, {}, says(Said::Yes)});
  const auto answer = asks->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->payload, says(Said::Yes));
}

TEST_F(RelayTest, aProcessAsksOnlyForItsOwnGids) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours), answers = process(other);
  asks->ask(7, theirs, other);
  const auto answer = asks->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, FrameKind::Nobody);
  EXPECT_EQ(relay.refused(), 1U);
}

TEST_F(RelayTest, whoIsSilentCostsABoundedTime) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours), silent = process(other);
  asks->ask(7, ours, other);
  ASSERT_TRUE(silent->hear());
  const auto answer = asks->hear();  // after ShadowRelay::patience
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, FrameKind::Nobody);
}

TEST_F(RelayTest, aProcessThatEndsWhileItIsAskedIsNobody) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours);
  auto ends = process(other);
  asks->ask(7, ours, other);
  ASSERT_TRUE(ends->hear());
  ends.reset();
  const auto answer = asks->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, FrameKind::Nobody);
  // The next question goes to the GID's own address, where no agent is.
  asks->ask(8, ours, other);
  const auto next = asks->hear();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->id, 8U);
}

TEST_F(RelayTest, anotherGuestAsksFromItsGidsAddress) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto answers = process(ours);
  const auto far = guest("127.0.0.3");
  far->ask(9, theirs, ours);
  const auto heard = answers->hear();
  ASSERT_TRUE(heard);
  answers->say(Frame{FrameKind::Answer, heard->id, {}, {}, says(Said::Yes)});
  const auto answer = far->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 9U);
  EXPECT_EQ(answer->payload, says(Said::Yes));
  far->ask(10, theirs, gid("127.0.0.9"));
  const auto absent = far->hear();
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->payload, says(Said::NotThere));
}

TEST_F(RelayTest, whoAsksInTheNameOfAnotherGidIsRefusedAndEnded) {
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto answers = process(ours);
  const auto far = guest("127.0.0.4");
  far->ask(9, theirs, ours);
  EXPECT_FALSE(far->hear());
  EXPECT_EQ(relay.refused(), 1U);
}

TEST_F(RelayTest, aGidElsewhereIsAskedAtItsAddressFromOurs) {
  tcp::acceptor there(io, tcp::endpoint(boost::asio::ip::make_address("127.0.0.3"), port));
  ShadowRelay relay(io, folder.path / "shadow.sock", port);
  const auto asks = process(ours);
  asks->ask(7, ours, theirs);
  std::optional<tcp::socket> accepted;
  there.async_accept([&](const boost::system::error_code& error, tcp::socket socket) {
    if (!error) accepted = std::move(socket);
  });
  for (int i = 0; i < 100 && !accepted; ++i) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->remote_endpoint().address().to_string(), "127.0.0.1");
  Guest far(io, std::move(*accepted));
  const auto heard = far.hear();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->payload, question());
  far.say(Frame{FrameKind::Answer, heard->id, {}, {}, says(Said::Yes)});
  const auto answer = asks->hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 7U);
  EXPECT_EQ(answer->payload, says(Said::Yes));
}

}  // namespace
}  // namespace rdmove::agent::test
