// The channel's life and the requests. What the guest says is agent_session_inbound.cpp.
#include <utility>
//
#include "coordinator/agentlink/agent_session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <random>

#include "guestagent/protocol/hello.hpp"

namespace rdmove {
namespace {

constexpr const char* kPort = "org.rdmove.agent.0";
constexpr std::size_t kMaxCalls = 64;

std::string randomPrefix() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}-", random(), random());
}

}  // namespace

AgentSession::AgentSession(Hypervisor& hypervisor, boost::asio::io_context& loop,
                           boost::asio::thread_pool& workers, DomainUuid domain, AgentLinkLimits limits)
    : hypervisor_(hypervisor),
      loop_(loop),
      workers_(workers),
      domain_(std::move(domain)),
      limits_(limits),
      id_prefix_(randomPrefix()),
      backoff_(limits.first_backoff),
      retry_(loop),
      deadline_(loop) {}

void AgentSession::start() {
  if (state_ == State::kIdle) open();
}

void AgentSession::request(std::string method, protocol::Payload params, std::chrono::milliseconds deadline,
                           Handler done) {
  const std::uint64_t id = ++last_id_;
  const auto line =
      protocol::encode(protocol::Request{id_prefix_ + std::to_string(id), method, std::move(params)});
  if (!line || calls_.size() == kMaxCalls) {
    Error error{line ? ErrorCode::kExhausted : ErrorCode::kBadInput,
                "ask the agent for " + method,
                line ? "too many requests wait for its answer" : line.error().message,
                {}};
    boost::asio::post(loop_, [weak = weak_from_this(), done = std::move(done), error = std::move(error)] {
      const auto self = weak.lock();
      if (self && self->state_ != State::kShutDown) done(tl::unexpected(error));
    });
    return;
  }
  const auto from = paused_since_.value_or(Clock::now());
  calls_.emplace(id, Call{std::move(method), *line, from + deadline, std::move(done)});
  armDeadline();
  if (state_ == State::kReady) send(*line);
  if (state_ == State::kGreeting && hello_rests_) sayHello();
  if (state_ == State::kIdle) open();
}

void AgentSession::setPaused(bool paused) {
  if (paused == paused_since_.has_value()) return;
  if (paused) {
    paused_since_ = Clock::now();
  } else {
    const auto stood = Clock::now() - *std::exchange(paused_since_, std::nullopt);
    for (auto& [id, call] : calls_) call.deadline += stood;
  }
  armDeadline();
}

void AgentSession::shutdown() {
  state_ = State::kShutDown;
  calls_.clear();
  retry_.cancel();
  deadline_.cancel();
  channel_ = {};
}

void AgentSession::open() {
  state_ = State::kOpening;
  auto queue = std::make_shared<InboundQueue>(loop_, limits_.pending_bytes, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->arrived();
  });
  // Without `this`: the session may be gone when a worker comes to it, and a channel nobody wants is closed
  // at once.
  boost::asio::post(workers_, [weak = weak_from_this(), &hypervisor = hypervisor_, &loop = loop_,
                               domain = domain_, queue = std::move(queue)] {
    if (weak.expired()) return;
    auto result = hypervisor.openChannel(domain, kPort, *queue);
    auto channel = std::make_shared<Channel>();
    channel->queue = queue;
    std::optional<Error> error;
    if (result) {
      channel->bytes = std::move(*result);
    } else {
      error = result.error();
    }
    boost::asio::post(loop, [weak, channel, error = std::move(error)]() mutable {
      if (const auto self = weak.lock()) self->opened(std::move(*channel), std::move(error));
    });
  });
}

void AgentSession::opened(Channel channel, std::optional<Error> error) {
  if (state_ != State::kOpening) return;
  if (error) {
    last_trouble_ = error->sentence();
    spdlog::debug("agent domain={} {}", domain_.str(), last_trouble_);
    if (error->code != ErrorCode::kConflict) {
      conflict_since_.reset();
    } else if (!conflict_since_) {
      conflict_since_ = Clock::now();
    } else if (Clock::now() - *conflict_since_ > limits_.conflict) {
      conflict_since_.reset();
      state_ = State::kIdle;
      return failAll(*error);
    }
    return reopenLater();
  }
  conflict_since_.reset();
  channel_ = std::move(channel);
  splitter_.reset();
  skip_line_ = false;
  state_ = State::kGreeting;
  hello_id_.clear();
  hellos_ = 0;
  send("\n");  // ends whatever half a line an earlier session has left
  sayHello();
  if (state_ == State::kGreeting) arrived();  // what came before we had the channel
}

void AgentSession::reopenLater() {
  if (calls_.empty()) {
    state_ = State::kIdle;
    backoff_ = limits_.first_backoff;
    return;
  }
  state_ = State::kWaiting;
  retry_.expires_after(backoff_);
  backoff_ = std::min(2 * backoff_, limits_.longest_backoff);
  retry_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (!cancelled && self && self->state_ == State::kWaiting) self->open();
  });
}

void AgentSession::closed(const std::string& why) {
  spdlog::debug("agent domain={} channel closed: {}", domain_.str(), why);
  if (state_ == State::kReady) backoff_ = limits_.first_backoff;
  last_trouble_ = "the channel was closed: " + why;
  channel_ = {};
  retry_.cancel();
  reopenLater();
}

void AgentSession::sayHello() {
  // The same id until it is answered: an answer that comes after we said it again counts too.
  if (hello_id_.empty()) hello_id_ = id_prefix_ + "hello" + std::to_string(++last_id_);
  hello_rests_ = false;
  ++hellos_;
  protocol::HelloRequest hello;
  hello.software = "rdmove " RDMOVE_VERSION;
  if (const auto line = protocol::encode(protocol::request(hello_id_, hello))) send(*line);
  retry_.expires_after(limits_.hello_again);
  retry_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self || self->state_ != State::kGreeting) return;
    self->last_trouble_ = "the channel is open, and nobody in the guest says hello";
    self->hello_rests_ = self->calls_.empty();
    if (!self->hello_rests_) self->sayHello();
  });
}

void AgentSession::sendAll() {
  resent_ = Clock::now();
  for (const auto& [id, call] : calls_) send(call.line);
}

/// At most twenty times a second, whatever the guest says.
void AgentSession::sendAllSoon() {
  const auto pause = limits_.hello_again / 20;
  if (Clock::now() - resent_ >= pause) return sendAll();
  retry_.expires_after(pause);
  retry_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (!cancelled && self && self->state_ == State::kReady) self->sendAll();
  });
}

void AgentSession::send(const std::string& line) {
  if (!channel_.bytes) return;
  const auto sent = channel_.bytes->send(line);
  // Closed: onClosed is on its way. Full: the requests stay, and their deadlines say it.
  if (!sent) last_trouble_ = sent.error().sentence();
}

void AgentSession::armDeadline() {
  if (paused_since_ || calls_.empty()) {
    deadline_.cancel();
    return;
  }
  const auto first = std::min_element(calls_.begin(), calls_.end(), [](const auto& a, const auto& b) {
    return a.second.deadline < b.second.deadline;
  });
  deadline_.expires_at(first->second.deadline);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (!cancelled && self) self->expire();
  });
}

void AgentSession::expire() {
  if (paused_since_ || state_ == State::kShutDown) return;
  const auto now = Clock::now();
  std::vector<Call> late;
  for (auto it = calls_.begin(); it != calls_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    late.push_back(std::move(it->second));
    it = calls_.erase(it);
  }
  armDeadline();
  for (const Call& call : late) {
    if (state_ == State::kShutDown) return;
    const std::string trouble = last_trouble_.empty() ? "no answer came" : last_trouble_;
    call.done(failure(ErrorCode::kTimeout, "ask the agent for " + call.method,
                      fmt::format("the agent in {} does not answer ({})", domain_.str(), trouble),
                      "Check that rdmove-agent runs in the guest, and that the domain has the channel " +
                          std::string(kPort) + "."));
  }
}

void AgentSession::failAll(const Error& error) {
  auto calls = std::exchange(calls_, {});
  armDeadline();
  for (const auto& [id, call] : calls) {
    if (state_ == State::kShutDown) return;
    Error each = error;
    each.attempted = "ask the agent for " + call.method;
    call.done(tl::unexpected(std::move(each)));
  }
}

}  // namespace rdmove
