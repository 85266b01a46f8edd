#include "client.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "../status_file.hpp"

namespace many {
namespace {

using beat::Clock;
using beat::Time;
using std::chrono::milliseconds;
constexpr milliseconds kAttempt{1500};  // the kernel's own time-out for a lost request is over a minute
constexpr milliseconds kLongestBackoff{200};
constexpr milliseconds kTextbookLook{1000};
constexpr int kStaleConnection = 10;
constexpr std::uint8_t kAckTimeout = 15;

std::uint64_t random_run() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Client::Client(const Options& options, int signals)
    : options_(options),
      signals_(signals),
      run_(random_run()),
      agent_(options.agent_path),
      slots_(options.connections) {}

int Client::run() {
  for (;;) {
    wait();
    char ignored[128];
    if (read(signals_, ignored, sizeof(ignored)) > 0) break;
    if (options_.way != Way::Floor) read_agent();
    while (channel_) {
      auto event = beat::take_event(channel_);
      if (!event) break;
      handle(*event);
    }
    if (device_) device_->poll([this](const Device::Completion& completion) { take(completion); });
    if (round_is_over_) end_round();
    if (addresses_.address_appeared() && away_ && !held_ && options_.way == Way::Event) begin();
    look();
    keep_status();
    if (options_.way == Way::Floor && round_ms_.size() >= options_.rounds) break;
  }
  let_go();
  next_status_ = {};
  keep_status();
  return errors_ == 0 ? 0 : 1;
}

void Client::wait() {
  pollfd files[] = {{signals_, POLLIN, 0},
                    {agent_.fd(), POLLIN, 0},
                    {addresses_.fd(), POLLIN, 0},
                    {channel_ ? channel_->fd : -1, POLLIN, 0},
                    {device_ ? device_->completion_fd() : -1, POLLIN, 0}};
  // The finest of its timers; the same for all ways.
  ::poll(files, std::size(files), 5);
}

void Client::read_agent() {
  if (agent_.fd() < 0 && Clock::now() >= next_agent_try_) {
    agent_.try_connect("rdma-many");
    next_agent_try_ = Clock::now() + milliseconds(500);
  }
  for (const auto& message : agent_.read_messages()) {
    if (message.word == beat::AgentWord::Quiesce) {
      quiesce(message.id);
    } else if (message.word != beat::AgentWord::Removed) {
      held_ = false;
      canary_.reset();
      beat::let_go_of_devices();
      ready_at_ = Clock::now();
      if (options_.way == Way::Event) begin();
    }
  }
}

/// Starts a round: all at once, or (textbook) the first one.
void Client::begin() {
  if (!channel_) {
    auto channel = beat::make_channel();
    if (!channel) return;
    channel_ = std::move(*channel);
  }
  away_ = false;
  began_ = Clock::now();
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    if (slots_[index].state != State::Idle) continue;
    slots_[index].backoff = milliseconds(20);
    start(index);
    if (options_.way == Way::Textbook) return;
  }
}

void Client::start(std::uint32_t index) {
  Slot& slot = slots_[index];
  auto id = beat::make_id(channel_);
  if (!id) return retry(index, kLongestBackoff);
  slot.id = std::move(*id);
  by_id_[slot.id.get()] = index;
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(options_.port);
  inet_pton(AF_INET, options_.server.c_str(), &server.sin_addr);
  slot.state = State::Resolving;
  slot.next = Clock::now() + kAttempt;
  if (rdma_resolve_addr(slot.id.get(), nullptr, reinterpret_cast<sockaddr*>(&server), 1000) != 0)
    retry(index, slot.backoff);
}

void Client::handle(const beat::CmEvent& event) {
  if (canary_ && event.id == canary_.get()) {
    canary_.reset();
    return beat::let_go_of_devices();
  }
  const auto found = by_id_.find(event.id);
  if (found == by_id_.end()) return;
  const std::uint32_t index = found->second;
  Slot& slot = slots_[index];
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      rdma_set_option(slot.id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
                      const_cast<std::uint8_t*>(&kAckTimeout), sizeof(kAckTimeout));
      if (rdma_resolve_route(slot.id.get(), 1000) != 0) retry(index, slot.backoff);
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return connect(index);
    case RDMA_CM_EVENT_ESTABLISHED:
      slot.state = State::Up;
      slot.in_flight = slot.answered = false;
      slot.backoff = milliseconds(20);
      return send(index);
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      let_go();
      look_again_ = Clock::now() + kTextbookLook;
      return;
    case RDMA_CM_EVENT_REJECTED:
      return retry(index, event.status == kStaleConnection ? milliseconds(0) : slot.backoff);
    default:
      return retry(index, slot.backoff);
  }
}

void Client::connect(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!device_) {
    auto device = Device::open(slot.id->verbs, static_cast<std::uint32_t>(slots_.size()));
    if (!device) return retry(index, kLongestBackoff);
    device_ = std::move(*device);
  }
  if (!device_->equip(slot.id.get(), index)) return retry(index, kLongestBackoff);
  const Hello hello{.run = run_, .index = index, .connections = options_.connections};
  rdma_conn_param parameters{};
  parameters.private_data = &hello;
  parameters.private_data_len = sizeof(hello);
  parameters.retry_count = 6;
  parameters.rnr_retry_count = 7;
  slot.state = State::Connecting;
  slot.next = Clock::now() + kAttempt;
  if (rdma_connect(slot.id.get(), &parameters) != 0) retry(index, slot.backoff);
}

void Client::send(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!device_->send(slot.id.get(), index, make_message(run_, index, slot.number))) return retry(index, {});
  slot.in_flight = true;
  slot.next = Clock::now() + kAttempt * 4;
}

void Client::take(const Device::Completion& completion) {
  Slot& slot = slots_[completion.slot];
  if (slot.state != State::Up || !slot.id || slot.id->qp->qp_num != completion.queue_pair) return;
  if (!completion.succeeded) return retry(completion.slot, {});
  if (!completion.received) return;
  const Message& message = completion.message;
  if (!is_intact(message) || message.run != run_ || message.index != completion.slot ||
      message.number != slot.number)
    ++errors_;
  ++slot.number;
  ++answered_;
  slot.in_flight = false;
  slot.next = Clock::now() + options_.interval;
  if (!device_->receive(slot.id.get(), completion.slot)) return retry(completion.slot, {});
  if (slot.answered) return;
  slot.answered = true;
  if (++up_ == slots_.size()) return all_up();
  if (options_.way == Way::Textbook) begin();  // the next one
}

void Client::all_up() {
  const Time now = Clock::now();
  if (options_.way == Way::Floor) {
    round_ms_.push_back(beat::to_ms(now - began_));
    round_is_over_ = true;
  } else if (ready_at_) {
    round_ms_.push_back(beat::to_ms(now - *ready_at_));
    ready_at_.reset();
  }
}

/// Not within a completion's call: the device that it came from goes.
void Client::end_round() {
  round_is_over_ = false;
  let_go();
  // What the server still has of this round is out of the way before the next one.
  look_again_ = Clock::now() + milliseconds(1000);
}

void Client::retry(std::uint32_t index, milliseconds after) {
  Slot& slot = slots_[index];
  if (slot.answered) --up_;
  if (slot.id) {
    by_id_.erase(slot.id.get());
    if (slot.id->qp) rdma_destroy_qp(slot.id.get());
    slot.id.reset();
  }
  slot.answered = slot.in_flight = false;
  slot.state = State::Idle;
  slot.next = Clock::now() + after;
  slot.backoff = std::min(2 * slot.backoff, kLongestBackoff);
}

/// What time brings: attempts that end, retries, messages that are due.
void Client::look() {
  const Time now = Clock::now();
  if (away_ && !held_ && options_.way != Way::Event && now >= look_again_) {
    look_again_ = now + kTextbookLook;
    begin();
  }
  if (away_ && !held_ && options_.way == Way::Event && began_ == Time{}) begin();
  if (away_) return;
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    if (now < slot.next) continue;
    if (slot.state == State::Idle) {
      // The textbook's next one is started by the one before it, unless that one has to be tried again.
      if (options_.way == Way::Textbook && index != up_) continue;
      start(index);
    } else if (slot.state != State::Up || slot.in_flight) {
      retry(index, {});
    } else {
      send(index);
    }
  }
}

void Client::let_go() {
  for (Slot& slot : slots_) {
    if (slot.state == State::Up) rdma_disconnect(slot.id.get());
  }
  for (std::uint32_t index = 0; index < slots_.size(); ++index) retry(index, {});
  device_.reset();
  beat::let_go_of_devices();
  up_ = 0;
  away_ = true;
}

void Client::quiesce(const std::string& request) {
  sockaddr_storage local{};
  for (const Slot& slot : slots_)
    if (slot.state == State::Up) std::memcpy(&local, rdma_get_local_addr(slot.id.get()), sizeof(sockaddr_in));
  let_go();
  held_ = true;
  keep_canary(local);
  agent_.answer_released(request);
}

void Client::keep_canary(const sockaddr_storage& local) {
  if (local.ss_family != AF_INET || !channel_) return;
  auto id = beat::make_id(channel_);
  if (!id) return;
  auto address = local;
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = 0;
  if (rdma_bind_addr(id->get(), reinterpret_cast<sockaddr*>(&address)) == 0) canary_ = std::move(*id);
}

void Client::keep_status() {
  if (Clock::now() < next_status_) return;
  next_status_ = Clock::now() + milliseconds(200);
  beat::write_status(options_.status_path, nlohmann::json{{"run", std::to_string(run_)},
                                                          {"connections", slots_.size()},
                                                          {"up", up_},
                                                          {"answered", answered_},
                                                          {"errors", errors_},
                                                          {"round_ms", round_ms_}}
                                               .dump());
}

int run_client(const Options& options, int signals) {
  return Client(options, signals).run();
}

}  // namespace many
