#include "guestagent/agent/host_port.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace rdmove::agent {
namespace {

using testing::ElementsAre;

// A socket pair stands for the port; what it cannot show is a host that comes back (that is the lab's test).
class HostPortTest : public testing::Test {
 protected:
  HostPortTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    host = ends[0];
    port = std::make_unique<HostPort>(
        io, ends[1],
        HostPort::Listener{[this](std::string_view line) { lines.emplace_back(line); },
                           [this] { ++opened; }});
    port->start();
    io.poll();
  }
  ~HostPortTest() override { ::close(host); }

  void say(const std::string& bytes) {
    EXPECT_EQ(::write(host, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    io.restart();
    io.poll();
  }
  std::string heard() {
    std::string out(1 << 20, '\0');
    const auto size = ::read(host, out.data(), out.size());
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return out;
  }

  boost::asio::io_context io{1};
  int host = -1;
  int opened = 0;
  std::vector<std::string> lines;
  std::unique_ptr<HostPort> port;
};

TEST_F(HostPortTest, gives_lines_that_arrive_in_pieces) {
  EXPECT_EQ(opened, 1);
  say("{\"a\"");
  say(":1}\n{}\n\n");
  EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "{}"));
}

TEST_F(HostPortTest, starts_a_session_with_an_empty_line) {
  port->send(protocol::Notification{"hello", {}});
  const auto bytes = heard();
  EXPECT_TRUE(bytes.starts_with("\n{")) << bytes;
  EXPECT_TRUE(bytes.ends_with("}\n")) << bytes;
}

TEST_F(HostPortTest, never_blocks_on_a_host_that_does_not_read_and_drops_whole_messages) {
  const protocol::Notification big{"m",
                                   protocol::Payload(nlohmann::json{{"text", std::string(60'000, 'x')}})};
  for (int i = 0; i < 100; ++i) port->send(big);
  std::string all;
  for (;;) {
    const auto more = heard();
    if (more.empty()) break;
    all += more;
    io.restart();
    io.poll();
  }
  protocol::LineSplitter splitter;
  int whole = 0;
  splitter.push(all, [&](std::string_view line) { whole += protocol::decode(line).has_value() ? 1 : 1000; });
  EXPECT_GT(whole, 3);
  EXPECT_LT(whole, 100);
  EXPECT_EQ(splitter.pending_bytes(), 0U);
}

TEST_F(HostPortTest, answers_with_an_error_what_would_not_fit_in_a_line) {
  heard();
  port->send(protocol::Response{protocol::RequestId{"x"},
                                protocol::Payload(nlohmann::json(std::string(70'000, 'x')))});
  EXPECT_THAT(heard(), testing::HasSubstr("-32603"));
}

TEST_F(HostPortTest, does_not_spin_while_nobody_is_at_the_other_end) {
  ::shutdown(host, SHUT_RDWR);
  const auto session = port->session();
  io.restart();
  io.poll();
  EXPECT_GT(port->session(), session);
  io.restart();
  EXPECT_EQ(io.poll(), 0U) << "a level-triggered watch would be ready for ever";
  port->send(protocol::Notification{"m", {}});  // into nothing
}

TEST(OpenHostPort, says_what_to_do) {
  try {
    open_host_port("/dev/virtio-ports/none", "/sys");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("target name"));
  }
}

}  // namespace
}  // namespace rdmove::agent
