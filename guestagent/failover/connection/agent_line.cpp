#include "guestagent/failover/connection/agent_line.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "guestagent/protocol/application.hpp"

namespace rdmove::failover::conn {

namespace words = protocol::application;

namespace {
constexpr Milliseconds retry_after{
    1'000};  // at most so long after an agent's start a process is not known to it
const protocol::RequestId registration{std::int64_t{1}};
}  // namespace

AgentLine::AgentLine(std::string path, std::string name, Poller& poller, TimerQueue& timers,
                     const Clock& clock, AgentListener& listener)
    : path_(std::move(path)),
      name_(std::move(name)),
      poller_(poller),
      timers_(timers),
      clock_(clock),
      listener_(listener),
      retry_(timers) {}

AgentLine::~AgentLine() {
  poller_.remove(watch_);
  if (fd_ >= 0) close(fd_);
}

void AgentLine::start() {
  if (path_.empty() || connect()) return;
  retry_.set(clock_.now() + retry_after, [this] { start(); });
}

bool AgentLine::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return false;
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(std::exchange(fd_, -1));
    return false;
  }
  splitter_.reset();
  watch_ = poller_.add(fd_, [this] { read(); });
  send(protocol::request(registration, words::Register{protocol::protocol_version, name_}));
  return fd_ >= 0;
}

void AgentLine::read() {
  std::array<char, 4096> buffer;
  while (fd_ >= 0) {
    const auto size = recv(fd_, buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return lose();
    splitter_.push({buffer.data(), static_cast<std::size_t>(size)}, [this](auto line) { take(line); });
  }
}

void AgentLine::take(std::string_view line) {
  const auto envelope = protocol::decode(line);
  if (!envelope) {
    if (!envelope.error().was_answer) send(envelope.error().answer);
    return;
  }
  if (const auto* request = std::get_if<protocol::Request>(&*envelope)) {
    const auto refuse = [&](protocol::Error error) {
      send(protocol::ErrorResponse{request->id, std::move(error)});
    };
    if (request->method != words::Quiesce::method)
      return refuse({protocol::ErrorCode::MethodNotFound, "only quiesce is known here"});
    const auto message = words::Quiesce::from_payload(request->params);
    if (!message) return refuse(message.error());
    asked_ = request->id;
    return listener_.asked_to_quiesce(message->deadline);
  }
  if (const auto* notification = std::get_if<protocol::Notification>(&*envelope)) {
    if (notification->method == words::Removed::method) return listener_.device_unplugged();
    if (notification->method != words::Ready::method && notification->method != words::Resume::method) return;
    asked_.reset();
    return listener_.device_is_back();
  }
  if (const auto* response = std::get_if<protocol::Response>(&*envelope)) take_answer(*response);
}

void AgentLine::take_answer(const protocol::Response& response) {
  if (registered_ || response.id != registration) return;
  const auto message = words::Accepted::from_payload(response.result);
  if (!message || !message->accepted) return;
  registered_ = true;
  listener_.agent_found();
}

void AgentLine::released() {
  if (!asked_) return;
  send(protocol::Response{*std::exchange(asked_, std::nullopt), words::Released{}.to_payload()});
}

void AgentLine::notify(const protocol::Notification& notification) {
  if (registered_) send(notification);
}

// Lines are short and the agent reads: a socket that does not take one whole is as good as lost.
void AgentLine::send(const protocol::Envelope& envelope) {
  const auto line = protocol::encode(envelope);
  if (fd_ < 0 || !line) return;
  if (::send(fd_, line->data(), line->size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line->size())) lose();
}

void AgentLine::lose() {
  if (fd_ < 0) return;
  poller_.remove(watch_);
  ::close(std::exchange(fd_, -1));
  registered_ = false;
  asked_.reset();
  splitter_.reset();
  retry_.set(clock_.now() + retry_after, [this] { start(); });
  listener_.agent_lost();
}

}  // namespace rdmove::failover::conn
