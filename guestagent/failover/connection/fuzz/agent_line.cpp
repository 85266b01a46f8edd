// What the agent, or who pretends to be it, writes to an application that links librdmove. Every quiesce is
// heard and answered once, unless it was called off; an application counts as registered when the agent has
// said so; all is the same however the stream is cut; and after garbage, or a new agent, the next is heard.
//
// Words: !released (the application has let go), !hang-up, !tick MS, !long N (a line of N bytes).
#include "guestagent/failover/connection/agent_line.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "guestagent/failover/connection/tests/manual_clock.hpp"
#include "guestagent/fuzz/steps.hpp"
#include "guestagent/fuzz/target.hpp"
#include "guestagent/protocol/application.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::failover::conn {
namespace {

using fake::ManualClock;
using fuzz::require;
using protocol::Envelope;
using protocol::RequestId;
namespace words = protocol::application;

constexpr std::size_t most_for_a_line = 512;

/// The agent's end.
class Agent {
 public:
  Agent() {
    std::string pattern = (std::filesystem::temp_directory_path() / "agent-line-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path = folder_ / "agent.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool listens = ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                         ::listen(listener_, 4) == 0;
    require(listens, "no socket for the agent");
  }
  ~Agent() {
    hang_up();
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  bool accept() {
    fd_ = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd_ >= 0;
  }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void say(std::string_view bytes) const { (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  [[nodiscard]] std::string hear() const {
    std::string out;
    std::array<char, 65536> buffer;
    for (ssize_t size = 0; (size = ::recv(fd_, buffer.data(), buffer.size(), 0)) > 0;)
      out.append(buffer.data(), static_cast<std::size_t>(size));
    return out;
  }
  [[nodiscard]] bool is_there() const { return fd_ >= 0; }

  std::string path;

 private:
  std::filesystem::path folder_;
  int listener_ = -1;
  int fd_ = -1;
};

class Scene : private AgentListener {
 public:
  explicit Scene(std::size_t piece) : piece_(piece) {
    require(poller_.open().has_value(), "no epoll");
    line_.start();
    meet();
  }

  void take(const fuzz::Step& step) {
    if (!step.bytes.empty()) say(step.bytes);
    if (step.word == "long") say(std::string(std::min(step.number, 70'000U), 'x') + "\n");
    if (step.word == "released") {
      line_.released();
      settle();
    }
    if (step.word == "hang-up") hang_up();
    if (step.word == "tick") {
      clock_.advance(Milliseconds(step.number));
      timers_.run_due(clock_.now());
      if (!agent_.is_there() && agent_.accept()) greet();
      settle();
    }
  }

  /// A new agent is met, and one that has talked garbage is understood again.
  void end() {
    if (!agent_.is_there()) meet_again();
    expect_quiesce_is_heard(-1);
    hang_up();
    meet_again();
    expect_quiesce_is_heard(-2);
  }

  std::string told;   // to the application
  std::string heard;  // by the agent

 private:
  void asked_to_quiesce(Milliseconds time) override {
    require(time.count() >= 0 && time <= protocol::limits::deadline, "a deadline is beyond its limit");
    told += "quiesce " + std::to_string(time.count()) + "\n";
    ++quiesces_told_;
  }
  void device_unplugged() override { told += "unplugged\n"; }
  void device_is_back() override { told += "back\n"; }
  void agent_lost() override {
    told += "lost\n";
    ++losses_;
  }
  void agent_found() override {
    require(is_welcome_, "it takes itself for registered, and the agent has not said so");
    told += "found\n";
  }

  void meet() {
    require(agent_.accept(), "it does not call the agent");
    greet();
    settle();
    require(heard_lines_ == 1, "it does not register");
  }
  void meet_again() {
    clock_.advance(Milliseconds(1'000));
    timers_.run_due(clock_.now());
    meet();
  }
  void greet() {
    heard_lines_ = said_lines_ = 0;
    is_welcome_ = false;
    asked_.clear();
    said_.reset();
    heard_.reset();
  }
  void hang_up() {
    if (!agent_.is_there()) return;
    const int before = losses_;
    agent_.hang_up();
    poller_.dispatch(0);
    require(losses_ == before + 1, "it does not notice, once, that the agent left");
    require(!line_.is_registered(), "it is registered with nobody");
  }

  void say(std::string_view bytes) {
    if (!agent_.is_there()) return;
    // Not so small that a line of 64 KiB takes long, nor so large that its answers fill the socket.
    for (const auto part : fuzz::pieces_of(bytes, std::max(piece_, bytes.size() / 200))) {
      said_.push(part, [this](std::string_view line) { said(line); });
      agent_.say(part);
      settle();
    }
  }

  void said(std::string_view text) {
    ++said_lines_;
    const auto envelope = protocol::decode(text);
    if (!envelope) return;
    if (const auto* request = std::get_if<protocol::Request>(&*envelope)) {
      const bool is_quiesce = request->method == words::Quiesce::method &&
                              words::Quiesce::from_payload(request->params).has_value();
      if (is_quiesce) asked_.insert(request->id);
      quiesces_said_ += is_quiesce ? 1 : 0;
    }
    if (const auto* response = std::get_if<protocol::Response>(&*envelope)) {
      const auto accepted = words::Accepted::from_payload(response->result);
      is_welcome_ =
          is_welcome_ || (response->id == RequestId{std::int64_t{1}} && accepted && accepted->accepted);
    }
  }

  void settle() {
    poller_.dispatch(0);
    require(quiesces_told_ == quiesces_said_, "a quiesce is not heard, or heard twice");
    if (!agent_.is_there()) return;
    const auto bytes = agent_.hear();
    heard += bytes;
    require(bytes.size() <= most_for_a_line * (said_lines_ + 2), "it says too much");
    heard_.push(bytes, [this](std::string_view text) { hear(text); });
  }

  void hear(std::string_view text) {
    ++heard_lines_;
    require(heard_lines_ <= said_lines_ + 1, "it says more than it is asked");
    const auto envelope = protocol::decode(text);
    require(envelope.has_value(), "it says what cannot be read");
    if (const auto* request = std::get_if<protocol::Request>(&*envelope)) {
      require(heard_lines_ == 1 && request->method == words::Register::method &&
                  words::Register::from_payload(request->params).has_value(),
              "it asks for something else than to be registered");
    }
    if (const auto* response = std::get_if<protocol::Response>(&*envelope)) {
      require(asked_.contains(response->id), "it answers what was not asked");
      answered_ = response->id;
    }
  }

  // By the rules of settle(); and answered once.
  void expect_quiesce_is_heard(std::int64_t id) {
    const auto migration = *protocol::MigrationId::parse("m1");
    say("\n" + protocol::encode(protocol::request(id, words::Quiesce{migration, Milliseconds(7)})).value());
    line_.released();
    settle();
    require(answered_ == RequestId{id}, "a quiesce after all that is not answered");
    const auto before = heard.size();
    line_.released();
    settle();
    require(heard.size() == before, "it is answered twice");
  }

  const std::size_t piece_;
  Agent agent_;
  ManualClock clock_;
  Poller poller_;
  TimerQueue timers_;
  AgentLine line_{agent_.path, "fuzz", poller_, timers_, clock_, *this};
  protocol::LineSplitter said_;
  protocol::LineSplitter heard_;
  std::set<RequestId> asked_;
  std::optional<RequestId> answered_;  // the last
  bool is_welcome_ = false;
  std::size_t said_lines_ = 0;
  std::size_t heard_lines_ = 0;
  int quiesces_said_ = 0;
  int quiesces_told_ = 0;
  int losses_ = 0;
};

std::pair<std::string, std::string> play(const std::vector<fuzz::Step>& steps, std::size_t piece) {
  Scene scene(piece);
  for (const auto& step : steps) scene.take(step);
  scene.end();
  return {std::move(scene.told), std::move(scene.heard)};
}

}  // namespace
}  // namespace rdmove::failover::conn

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  using failover::conn::play;
  const auto steps = steps_in(input);
  require(play(steps, 128) == play(steps, 5), "what is told depends on how the stream is cut");
}
