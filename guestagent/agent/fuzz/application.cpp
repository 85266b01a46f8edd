// What a local application writes into the agent's socket, beside another one that behaves. Whatever the
// first does, the second is asked, heard and told; the first is counted, believed and answered only for what
// it has said; and who floods or talks nonsense is gone at once.
//
// Words: !quiesce, !removed, !resume, !ready (what the agent does), !tick MS, !anew (it connects again),
// !leave, !long N (a line of N bytes).
#include "guestagent/agent/application_hub.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "guestagent/fuzz/quiet.hpp"
#include "guestagent/fuzz/steps.hpp"
#include "guestagent/fuzz/target.hpp"
#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent {
namespace {

using fuzz::require;
using protocol::Envelope;
using protocol::RequestId;
namespace words = protocol::application;

const RequestId registration{"me"};
const auto migration = *protocol::MigrationId::parse("m1");
constexpr std::size_t max_line = 4096;  // docs/agent-protocol.md, "Applications"
constexpr int max_burst = 64;

const std::string& socket_path() {
  static const test::TemporaryFolder folder;
  static const std::string path = folder.path / "agent.sock";
  return path;
}

/// An application's end of the socket.
class Client {
 public:
  explicit Client(boost::asio::io_context& io) : io_(io) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path().copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
            "nobody listens");
    settle();
  }
  ~Client() {
    ::close(fd_);
    is_over = true;
    settle();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void say(std::string_view bytes) {
    for (const auto part : fuzz::pieces_of(bytes, 1024)) {
      if (is_over) return;
      sent_.push(part, [this](std::string_view line) { said(line); });
      (void)::send(fd_, part.data(), part.size(), MSG_NOSIGNAL);
      settle();
    }
    if (sent_.dropped_lines() > 0) has_to_go = true;
    check();
  }

  /// Runs the agent until it has nothing to do, and reads what it has said.
  void settle() {
    io_.restart();
    while (io_.poll() > 0) io_.restart();
    std::array<char, 4096> buffer;
    while (!is_over) {
      const auto size = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (size < 0 && errno == EAGAIN) return;
      if (size <= 0) {
        is_over = true;
        return;
      }
      received_.push({buffer.data(), static_cast<std::size_t>(size)}, [this](auto line) { take(line); });
    }
  }

  void check() const {
    require(!has_to_go || is_over, "who talks nonsense is not gone");
    require(registrations <= 1, "it is registered twice");
    require(answers <= lines, "there are more answers than lines");
  }

  /// Rounded up: who is believed to flood certainly does.
  void pay_for(int ms) {
    const auto cost = static_cast<int>(LineBudget::cost.count());
    recent_lines = std::max(0, recent_lines - (ms + cost - 1) / cost);
  }
  [[nodiscard]] bool is_registered() const { return registrations > 0 && !is_over; }
  /// It may have answered before it was asked, if it guessed the id.
  [[nodiscard]] bool says_that_it_let_go() const { return releases_.contains(RequestId{asked}); }
  /// Heard since, but for what it was told before.
  std::vector<Envelope> heard() { return std::exchange(heard_, {}); }

  bool is_over = false;
  bool has_to_go = false;
  int lines = 0;
  int recent_lines = 0;
  int answers = 0;
  int registrations = 0;
  std::int64_t asked = 0;  // the id of the last quiesce

 private:
  void said(std::string_view line) {
    ++lines;
    if (++recent_lines > max_burst) has_to_go = true;
    const auto envelope = protocol::decode(line);
    if (!envelope) {
      has_to_go = true;
      return;
    }
    const auto* response = std::get_if<protocol::Response>(&*envelope);
    if (response == nullptr) return;
    const auto released = words::Released::from_payload(response->result);
    if (released && released->released) releases_.insert(response->id);
  }

  void take(std::string_view line) {
    const auto envelope = protocol::decode(line);
    require(envelope.has_value(), "the agent says what cannot be read");
    heard_.push_back(*envelope);
    if (const auto* request = std::get_if<protocol::Request>(&*envelope)) {
      require(words::Quiesce::from_payload(request->params).has_value(), "the agent asks for something else");
      asked = std::get<std::int64_t>(request->id);
    }
    if (std::holds_alternative<protocol::Notification>(*envelope)) return;
    if (!std::holds_alternative<protocol::Request>(*envelope)) ++answers;
    if (std::holds_alternative<protocol::Response>(*envelope)) ++registrations;
  }

  boost::asio::io_context& io_;
  int fd_ = -1;
  protocol::LineSplitter sent_{max_line};
  protocol::LineSplitter received_;
  std::vector<Envelope> heard_;
  std::set<RequestId> releases_;
};

class Scene {
 public:
  Scene() {
    good->say(protocol::encode(protocol::request(registration, words::Register{1, "good"})).value());
    require(good->is_registered(), "who registers is not registered");
    (void)good->heard();
  }

  void take(const fuzz::Step& step) {
    if (!step.bytes.empty() && other) other->say(step.bytes);
    if (step.word == "long" && other) other->say(std::string(std::min(step.number, 9000U), 'x') + "\n");
    if (step.word == "leave") other.reset();
    if (step.word == "anew") {
      other.reset();
      other = std::make_unique<Client>(io);
    }
    if (step.word == "tick") {
      timers.advance(milliseconds(step.number));
      if (other) other->pay_for(static_cast<int>(step.number));
    }
    if (step.word == "quiesce") quiesce();
    if (step.word == "removed" && is_held) {
      is_removed = true;
      tell("removed", [this] { hub.removed(); });
    }
    if (step.word == "resume") end_hold("resume", [this] { hub.resume(); });
    if (step.word == "ready") end_hold("ready", [this] { hub.ready(migration, {"10.0.0.5/24"}); });
    check();
  }

  /// The other one is gone: nothing of it is left, and the good one can let go for all.
  void end() {
    other.reset();
    check();
    require(hub.count() == 1, "who has left is still counted");
    if (is_removed) end_hold("resume", [this] { hub.resume(); });
    quiesce();
    release();
    require(calls == 1, "all have let go, and it is not said");
    end_hold("ready", [this] { hub.ready(migration, {}); });
  }

 private:
  void settle() const {
    if (other) other->settle();
    good->settle();
  }

  void tell(const char* word, const std::function<void()>& say) {
    say();
    settle();
    const auto heard = good->heard();
    const auto* told = heard.size() == 1 ? std::get_if<protocol::Notification>(&heard[0]) : nullptr;
    require(told != nullptr && told->method == word, "who behaves is not told");
  }
  void end_hold(const char* word, const std::function<void()>& say) {
    is_held = is_removed = false;
    tell(word, say);
  }

  void quiesce() {
    if (is_held) return;
    is_held = true;
    calls = 0;
    hub.quiesce(migration, milliseconds(100), [this] {
      ++calls;
      require(is_held, "all have let go of a move that is over");
      require(hub.unreleased().empty(), "all have let go, and somebody has not");
    });
    settle();
    const auto heard = good->heard();
    require(heard.size() == 1 && std::holds_alternative<protocol::Request>(heard[0]),
            "who behaves is not asked");
  }

  void release() const {
    good->say(
        protocol::encode(protocol::Response{RequestId{good->asked}, words::Released{}.to_payload()}).value());
    require(hub.released().size() == 1, "who behaves is not believed");
    (void)good->heard();
  }

  void check() const {
    if (other) other->check();
    require(!good->is_over, "who behaves is ended");
    require(calls <= 1, "all have let go twice");
    const bool is_there = other && other->is_registered();
    require(hub.count() == (is_there ? 2U : 1U), "who is counted is another than who registered");
    if (is_held && !hub.released().empty())
      require(is_there && other->says_that_it_let_go(), "one is believed that said nothing");

    const protocol::AppsResult list{hub.list(), 0};
    const auto again = protocol::AppsResult::from_payload(list.to_payload());
    require(again && *again == list, "the list of applications cannot be read");
  }

  boost::asio::io_context io{1};
  test::FakeTimers timers;
  ApplicationHub hub{io, timers, socket_path()};
  bool is_held = false;
  bool is_removed = false;
  int calls = 0;
  std::unique_ptr<Client> good = std::make_unique<Client>(io);
  std::unique_ptr<Client> other = std::make_unique<Client>(io);
};

}  // namespace
}  // namespace rdmove::agent

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  quiet();
  agent::Scene scene;
  for (const auto& step : steps_in(input)) scene.take(step);
  scene.end();
}
