// What the guest says. Nothing of it is believed before it is parsed within the protocol's limits; what is
// not an answer to a request of ours is dropped, counted, and logged once.
#include <utility>
//
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "coordinator/agentlink/agent_session.hpp"
#include "guestagent/protocol/hello.hpp"

namespace rdmove {
namespace {

/// The version that the other side said, in a hello's answer or in the data of its refusal.
std::string versionIn(const protocol::Payload& payload) {
  const auto& json = payload.json();
  if (!json.is_object() || !json.contains("version") || !json.at("version").is_number_integer())
    return "unknown";
  return std::to_string(json.at("version").get<std::int64_t>());
}

}  // namespace

void AgentSession::arrived() {
  if (!channel_.queue || state_ == State::kShutDown) return;
  const auto queue = channel_.queue;
  Inbound inbound = queue->take();
  std::string_view bytes = inbound.bytes;
  if (skip_line_ && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    skip_line_ = end == bytes.npos;
  }
  const auto long_before = splitter_.dropped_lines();
  splitter_.push(bytes, [this, &queue](std::string_view line) {
    if (channel_.queue == queue) take(line);  // else an earlier line ended this channel
  });
  if (channel_.queue != queue) return;
  if (splitter_.dropped_lines() != long_before) dropped("a line longer than 64 KiB");
  if (inbound.gap) {
    dropped("more bytes than this host reads");
    splitter_.reset();
    skip_line_ = true;
  }
  if (inbound.closed) closed(inbound.why);
}

bool AgentSession::flooded() {
  const auto now = Clock::now();
  if (now - window_ > std::chrono::seconds(1)) {
    window_ = now;
    lines_in_window_ = 0;
  }
  return ++lines_in_window_ > limits_.lines_per_second;
}

void AgentSession::take(std::string_view line) {
  if (flooded()) {
    dropped("a flood of lines");
    backoff_ = limits_.longest_backoff;
    splitter_.reset();
    state_ = State::kGreeting;  // keeps the long backoff
    return closed("the guest sends too much");
  }
  auto envelope = protocol::decode(line);
  if (!envelope) return dropped(envelope.error().answer.error.message);
  if (auto* response = std::get_if<protocol::Response>(&*envelope)) {
    onAnswer(response->id, std::move(response->result));
  } else if (auto* refusal = std::get_if<protocol::ErrorResponse>(&*envelope)) {
    if (!refusal->id) return dropped("an error without id: " + refusal->error.message);
    onAnswer(*refusal->id, tl::unexpected(std::move(refusal->error)));
  } else if (auto* notification = std::get_if<protocol::Notification>(&*envelope)) {
    if (notification->method == protocol::HelloAnswer::method) onHelloNotification(notification->params);
  } else {
    dropped("a request, and the host takes none");
  }
}

void AgentSession::onAnswer(const protocol::RequestId& id, Answer answer) {
  const auto* text = std::get_if<std::string>(&id);
  if (text != nullptr && !hello_id_.empty() && *text == hello_id_) return onHelloAnswer(answer);
  if (text == nullptr || !text->starts_with(id_prefix_)) return dropped("an answer to another request");
  if (text->starts_with(id_prefix_ + "hello")) return;  // of one that was said more than once
  for (auto it = calls_.begin(); it != calls_.end(); ++it) {
    if (*text != id_prefix_ + std::to_string(it->first)) continue;
    const Handler done = std::move(it->second.done);
    calls_.erase(it);
    armDeadline();
    return done(std::move(answer));
  }
  dropped("an answer to a request that is over");
}

void AgentSession::onHelloAnswer(const Answer& answer) {
  hello_id_.clear();
  if (!answer) {
    if (answer.error().code == protocol::ErrorCode::VersionMismatch)
      return incompatible(versionIn(answer.error().data));
    return dropped("a refusal of hello: " + answer.error().message);  // hello_again says it again
  }
  const auto agent = protocol::HelloAnswer::from_payload(*answer);
  if (agent) return greeted(*agent);
  if (agent.error().code == protocol::ErrorCode::VersionMismatch) return incompatible(versionIn(*answer));
  dropped("an answer to hello: " + agent.error().message);
}

void AgentSession::greeted(const protocol::HelloAnswer& agent) {
  if (state_ != State::kGreeting) return;
  spdlog::info("agent domain={} software=\"{}\" says hello", domain_.str(), printable(agent.software));
  retry_.cancel();
  state_ = State::kReady;
  agent_instance_ = agent.instance;
  last_trouble_.clear();
  sendAll();
}

void AgentSession::incompatible(const std::string& theirs) {
  channel_ = {};
  retry_.cancel();
  state_ = State::kIdle;  // asked again by the next request: the agent may have been replaced meanwhile
  failAll({ErrorCode::kIncompatible, "",
           fmt::format("the agent in {} speaks version {} of the agent channel, this host only version {}",
                       domain_.str(), theirs, protocol::protocol_version),
           "Install the same rdmove release on host and guest."});
}

/// The agent says it when it starts, and when it sees that the host has opened the port: what it was asked
/// before that it will not answer.
void AgentSession::onHelloNotification(const protocol::Payload& params) {
  const auto agent = protocol::HelloAnswer::from_payload(params);
  if (!agent && agent.error().code != protocol::ErrorCode::VersionMismatch) {
    return dropped("a hello: " + agent.error().message);
  }
  const bool restarted = !agent || agent->instance != agent_instance_;
  if (state_ == State::kReady && !restarted) return sendAllSoon();
  if (state_ == State::kReady) {
    state_ = State::kGreeting;
    return sayHello();
  }
  // The agent may have dropped our hello with the session that it saw ending, so it is said again at once:
  // waiting for hello_again would add a second to the blackout. Bounded, whatever the guest says.
  constexpr int kMostHellos = 5;
  if (state_ == State::kGreeting && hellos_ < kMostHellos) sayHello();
}

void AgentSession::dropped(std::string_view what) {
  const auto level = dropped_++ == 0 ? spdlog::level::warn : spdlog::level::debug;
  spdlog::log(level, "agent domain={} dropped={} what=\"{}\"", domain_.str(), dropped_,
              printable(std::string(what)));
}

}  // namespace rdmove
