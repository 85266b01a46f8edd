#include "beat_client.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "status_file.hpp"

namespace beat {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstBackoff{20};
constexpr milliseconds kLongestBackoff{100};
constexpr milliseconds kAttempt{1500};  // the kernel's own time-out for a lost request is over a minute
constexpr milliseconds kEchoTimeout{
    5000};  // well above a paused guest; QP retries notice a vanished server sooner
constexpr int kResolveTimeoutMs = 1000;
constexpr int kStaleConnection = 10;  // REJ reason: the other side had the old connection; again, now
constexpr std::uint8_t kAckTimeout = 15;

std::uint64_t random_run() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace

Client::Client(const Options& options, int signals)
    : options_(options), signals_(signals), run_(random_run()), agent_(options.agent_path) {
  char name[32] = {};
  gethostname(name, sizeof(name) - 1);
  host_ = name;
}

int Client::run() {
  for (;;) {
    wait();
    if (const auto signal = read_signal(signals_); signal == Signal::End)
      break;
    else if (signal == Signal::Stats)
      log_event("stats " + status());
    read_agent();
    while (channel_) {
      auto event = take_event(channel_);
      if (!event) break;
      handle(*event);
    }
    if (addresses_.fd() >= 0 && addresses_.address_appeared() && state_ == State::Waiting) next_attempt_ = {};
    if (state_ == State::Connected) receive();
    const Time now = Clock::now();
    if (state_ == State::Waiting && now >= next_attempt_) start_attempt();
    if ((state_ == State::Resolving || state_ == State::Connecting) && now >= attempt_deadline_)
      retry("no answer in time", {});
    if (state_ == State::Connected) beat();
    keep_status();
    tell_agent();
    if (options_.count != 0 && echoed_ >= options_.count) break;
  }
  if (state_ == State::Connected) rdma_disconnect(endpoint_->id());
  let_go();
  write_status(options_.status_path, status());
  log_event("stats " + status());
  return errors_ == 0 ? 0 : 1;
}

Time Client::next_deadline() const {
  switch (state_) {
    case State::Waiting:
      return next_attempt_;
    case State::Resolving:
    case State::Connecting:
      return attempt_deadline_;
    case State::Connected:
      return sent_at_ + (in_flight_ ? Clock::duration(kEchoTimeout) : options_.interval);
    case State::Quiesced:
      break;
  }
  return Time::max();
}

void Client::wait() {
  pollfd files[] = {{signals_, POLLIN, 0},
                    {agent_.fd(), POLLIN, 0},
                    {addresses_.fd(), POLLIN, 0},
                    {channel_ ? channel_->fd : -1, POLLIN, 0},
                    {state_ == State::Connected ? endpoint_->completion_fd() : -1, POLLIN, 0}};
  const auto left = std::min(next_deadline(), next_status_) - Clock::now();
  const auto nanoseconds = std::max<std::int64_t>(0, std::chrono::nanoseconds(left).count());
  const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ppoll(files, std::size(files), &time, nullptr);
}

void Client::read_agent() {
  if (agent_.fd() < 0 && Clock::now() >= next_agent_try_) {
    agent_.try_connect("rdma-beat");
    told_.reset();
    next_agent_try_ = Clock::now() + milliseconds(500);
  }
  for (const auto& message : agent_.read_messages()) {
    switch (message.word) {
      case AgentWord::Quiesce:
        quiesce(message.id);
        break;
      case AgentWord::Removed:
        log_event("agent says removed");
        break;
      case AgentWord::Lost:  // nobody would say ready any more: back to events and time
      case AgentWord::Ready:
      case AgentWord::Resume:
        log_event(message.word == AgentWord::Ready    ? "agent says ready"
                  : message.word == AgentWord::Resume ? "agent says resume"
                                                      : "agent is gone");
        if (state_ == State::Quiesced || state_ == State::Waiting) {
          state_ = State::Waiting;
          next_attempt_ = {};
          backoff_ = kFirstBackoff;
        }
        break;
    }
  }
}

void Client::quiesce(const std::string& request) {
  log_event("agent says quiesce");
  sockaddr_storage local{};
  if (state_ == State::Connected) {
    std::memcpy(&local, rdma_get_local_addr(endpoint_->id()), sizeof(sockaddr_in));
    down_since_ = Clock::now();
    // The peer learns it while the NIC still works. Its answer is waited for, but not for long.
    rdma_disconnect(endpoint_->id());
    pollfd ready{channel_->fd, POLLIN, 0};
    if (::poll(&ready, 1, 100) > 0) take_event(channel_);
  }
  let_go();
  state_ = State::Quiesced;
  keep_canary(local);
  agent_.answer_released(request);
  log_event("released");
}

// While the device is there, librdmacm keeps its context open whatever is destroyed; it lets go once the
// device is no longer listed, and only when asked. A process with no id on the device is never told of that
// moment: so keep one.
void Client::keep_canary(sockaddr_storage local) {
  if (local.ss_family != AF_INET || !channel_) return;
  auto id = make_id(channel_);
  if (!id) return;
  auto* address = reinterpret_cast<sockaddr_in*>(&local);
  address->sin_port = 0;
  if (rdma_bind_addr(id->get(), reinterpret_cast<sockaddr*>(address)) == 0) id_ = std::move(*id);
}

void Client::start_attempt() {
  let_go();  // the canary, if it is still there
  if (!channel_) {
    auto channel = make_channel();
    if (!channel) return retry(channel.error(), kLongestBackoff);
    channel_ = std::move(*channel);
  }
  auto id = make_id(channel_);
  if (!id) return retry(id.error(), kLongestBackoff);
  id_ = std::move(*id);
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<std::uint16_t>(std::atoi(options_.port.c_str())));
  inet_pton(AF_INET, options_.server.c_str(), &server.sin_addr);
  state_ = State::Resolving;
  attempt_deadline_ = Clock::now() + kAttempt;
  if (rdma_resolve_addr(id_.get(), nullptr, reinterpret_cast<sockaddr*>(&server), kResolveTimeoutMs) != 0)
    retry(last_error("rdma_resolve_addr"), kLongestBackoff);
}

void Client::handle(const CmEvent& event) {
  const rdma_cm_id* ours = endpoint_ ? endpoint_->id() : id_.get();
  if (!ours || event.id != ours) return;
  if (state_ == State::Quiesced) {  // the canary's DEVICE_REMOVAL
    log_event(event.describe());
    return let_go();
  }
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return address_resolved();
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return route_resolved();
    case RDMA_CM_EVENT_ESTABLISHED:
      state_ = State::Connected;
      ++connections_;
      backoff_ = kFirstBackoff;
      last_complaint_.clear();
      if (in_flight_) ++resent_;
      if (down_since_ != Time{})
        last_blackout_ = std::chrono::duration_cast<milliseconds>(Clock::now() - down_since_);
      in_flight_ = false;  // whether it arrived is unknown: it goes again, under its number
      sent_at_ = {};
      return log_event("connected connections=" + std::to_string(connections_));
    case RDMA_CM_EVENT_REJECTED:
      return retry(event.describe(), event.status == kStaleConnection ? Clock::duration{} : backoff_);
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return;
    default:  // resolve and connect errors, DISCONNECTED, DEVICE_REMOVAL
      return retry(event.describe(), state_ == State::Connected ? Clock::duration{} : backoff_);
  }
}

void Client::address_resolved() {
  rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
                  const_cast<std::uint8_t*>(&kAckTimeout), sizeof(kAckTimeout));
  auto endpoint = Endpoint::create(std::move(id_));
  if (!endpoint) return retry(endpoint.error(), backoff_);
  endpoint_ = std::move(*endpoint);
  if (rdma_resolve_route(endpoint_->id(), kResolveTimeoutMs) != 0)
    retry(last_error("rdma_resolve_route"), backoff_);
}

void Client::route_resolved() {
  Hello hello;
  hello.run = run_;
  std::memcpy(hello.name.data(), host_.data(), std::min(host_.size(), hello.name.size() - 1));
  rdma_conn_param parameters{};
  parameters.private_data = &hello;
  parameters.private_data_len = sizeof(hello);
  parameters.retry_count = 6;  // 7 never gives up on soft-RoCE; the server's QP takes this number too
  parameters.rnr_retry_count = 7;
  state_ = State::Connecting;
  if (rdma_connect(endpoint_->id(), &parameters) != 0) retry(last_error("rdma_connect"), backoff_);
}

void Client::retry(const std::string& why, Clock::duration after) {
  if (state_ == State::Connected) down_since_ = Clock::now();
  if (state_ == State::Connected || why != last_complaint_) log_event("not connected: " + why);
  last_complaint_ = why;
  let_go();
  state_ = State::Waiting;
  next_attempt_ = Clock::now() + after;
  backoff_ = std::clamp<Clock::duration>(2 * backoff_, kFirstBackoff, kLongestBackoff);
}

// Every event was acknowledged when it was taken, so all of it may go at once.
void Client::let_go() {
  const bool held = endpoint_ || (id_ && id_->verbs);
  endpoint_.reset();
  id_.reset();
  if (held) let_go_of_devices();
}

void Client::beat() {
  const Time now = Clock::now();
  if (in_flight_) {
    if (now - sent_at_ < kEchoTimeout) return;
    ++errors_;
    return retry("no echo of " + std::to_string(number_), {});
  }
  if (now - sent_at_ < options_.interval) return;
  if (auto sent = endpoint_->send(make_message(run_, number_)); !sent) return retry(sent.error(), {});
  in_flight_ = true;
  sent_at_ = now;
}

void Client::receive() {
  auto done = endpoint_->poll([&](const Message& message) {
    if (!is_intact(message) || message.run != run_ || message.number != number_ || !in_flight_) {
      ++errors_;
      log_event("wrong echo number=" + std::to_string(message.number) +
                " expected=" + std::to_string(number_));
      return;
    }
    in_flight_ = false;
    ++echoed_;
    ++number_;
  });
  if (!done) retry(done.error(), {});
}

void Client::tell_agent() {
  const bool known = state_ == State::Connected || state_ == State::Quiesced;
  const std::tuple now{known ? state_ : State::Waiting, resent_, last_blackout_};
  if (agent_.fd() < 0 || told_ == now) return;
  told_ = now;
  const char* word = state_ == State::Connected  ? "up"
                     : state_ == State::Quiesced ? "quiesced"
                                                 : "reconnecting";
  agent_.report(word, state_ == State::Connected, last_blackout_, resent_);
}

void Client::keep_status() {
  if (Clock::now() < next_status_) return;
  next_status_ = Clock::now() + milliseconds(200);
  write_status(options_.status_path, status());
}

std::string Client::status() const {
  static constexpr const char* kNames[] = {"waiting", "resolving", "connecting", "connected", "quiesced"};
  return nlohmann::json{{"role", "client"},
                        {"state", kNames[static_cast<int>(state_)]},
                        {"connections", connections_},
                        {"echoed", echoed_},
                        {"resent", resent_},
                        {"errors", errors_},
                        {"agent", agent_.fd() >= 0}}
      .dump();
}

int run_client(const Options& options, int signals) {
  return Client(options, signals).run();
}

}  // namespace beat
