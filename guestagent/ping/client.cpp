#include "guestagent/ping/client.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>

#include "guestagent/ping/server.hpp"

namespace rdmove::ping {
namespace {

constexpr std::chrono::seconds kAnswersWithin{30};
constexpr std::chrono::seconds kGoodbyesWithin{3};
constexpr int kBurst = 64;  // messages of one connection before others have their turn
constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::milliseconds kLookSoon{20};

failover::Result<failover::SocketAddress> resolve(const std::string& host, std::uint16_t port) {
  addrinfo* found = nullptr;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failed != 0) {
    return failover::fail(
        failover::ErrorCode::InvalidArgument,
        fmt::format("{}: {}; give an address or a name that resolves", host, gai_strerror(failed)));
  }
  const auto address = failover::SocketAddress::from(found->ai_addr).with_port(port);
  ::freeaddrinfo(found);
  return address;
}

}  // namespace

failover::Result<void> Client::start(std::uint64_t seed) {
  const auto peer = resolve(options_.host, options_.port);
  if (!peer) return tl::unexpected(peer.error());
  std::optional<failover::SocketAddress> local;
  if (!options_.from.empty()) {
    const auto parsed = failover::SocketAddress::parse(options_.from, 0);
    if (!parsed) return tl::unexpected(parsed.error());
    local = *parsed;
  }
  auto channel_with = channel_options(options_, options_.size);
  channel_with.connection.private_data = write_introduction({options_.size, options_.one_sided});
  for (std::uint32_t i = first_; i < first_ + options_.connections; ++i) {
    auto end = std::make_unique<ClientEnd>(
        i + 1, [this](const std::string& line) { say(options_, line); }, Stream{seed + i}, options_);
    auto channel = failover::Channel::connect(loop_, *peer, channel_with, *end, local);
    if (!channel) return tl::unexpected(channel.error());
    if (auto ready = end->begin(std::move(*channel)); !ready) return ready;
    senders_.push_back({std::move(end), {}});
  }
  if (options_.duration) end_at_ = Clock::now() + *options_.duration;
  return {};
}

void Client::send_due(Sender& sender, Clock::time_point now) {
  if (sender.end->channel()->message_limit() == 0) return;  // never up so far
  if (sender.due == Clock::time_point{}) sender.due = now;
  if (options_.rate == 0) {
    for (int i = 0; i < kBurst && !is_done(sender) && sender.end->send(); ++i) {
    }
    return;
  }
  const auto pause = std::chrono::nanoseconds(std::chrono::seconds(1)) / options_.rate;
  for (int i = 0; i < kBurst && sender.due <= now && !is_done(sender) && sender.end->send(); ++i)
    sender.due += pause;
  // What could not be sent in a blackout is not made up for: the rate is a rate.
  if (sender.due <= now) sender.due = now + pause;
}

/// The device is there again, and now an answer has come on each connection since.
void Client::look_for_return(Clock::time_point now) {
  if (loop_.came_back() == returned_) return;
  const auto is_dark = [](const Sender& sender) {
    return !sender.end->is_gone() && sender.end->tally().is_dark();
  };
  // Not all anew at each pass: a crowd makes many.
  while (light_ < senders_.size() && !is_dark(senders_[light_])) ++light_;
  if (light_ < senders_.size()) return;
  light_ = 0;
  if (std::any_of(senders_.begin(), senders_.end(), is_dark)) return;  // again
  returned_ = loop_.came_back();
  return_ = std::chrono::duration_cast<std::chrono::microseconds>(now - returned_);
}

/// When somebody wants it again. Not at each pass of the loop: a crowd that comes back makes thousands of
/// them.
Clock::time_point Client::send_all_due(Clock::time_point now) {
  bool is_all_done = true;
  auto due = now + kLook;
  for (Sender& sender : senders_) {
    if (sender.end->is_gone()) continue;
    send_due(sender, now);
    if (is_done(sender)) continue;
    is_all_done = false;
    due = std::min(due, sender.due > now ? sender.due : now + kLookSoon);
  }
  if (is_all_done || (end_at_ && now >= *end_at_)) stop_sending(now);
  return due;
}

Clock::time_point Client::tick(Clock::time_point now) {
  look_for_return(now);
  if (!answers_until_) {
    if (options_.rate == 0 || now >= next_due_) next_due_ = send_all_due(now);
    return next_due_;
  }
  const bool is_answered = std::all_of(senders_.begin(), senders_.end(), [](const Sender& sender) {
    return sender.end->is_gone() || sender.end->unanswered() == 0;
  });
  if (!goodbyes_until_ && (is_answered || now >= *answers_until_)) finish(now);
  if (goodbyes_until_) {
    const bool is_quiet = std::all_of(senders_.begin(), senders_.end(),
                                      [](const Sender& sender) { return sender.end->is_gone(); });
    is_over_ = is_quiet || now >= *goodbyes_until_;
  }
  return now + kLook / 5;
}

void Client::stop_sending(Clock::time_point now) {
  if (!answers_until_) answers_until_ = now + kAnswersWithin;
}

void Client::finish(Clock::time_point now) {
  goodbyes_until_ = now + kGoodbyesWithin;
  for (Sender& sender : senders_) {
    sender.end->close_book();
    has_failed_ = has_failed_ || sender.end->is_gone();
    if (!sender.end->is_gone()) sender.end->channel()->finish();
  }
}

std::vector<ConnectionReport> Client::report() const {
  std::vector<ConnectionReport> all;
  for (const Sender& sender : senders_) all.push_back(sender.end->report());
  return all;
}

Totals Client::totals() const {
  Totals totals;
  for (const auto& connection : report()) totals.add(connection);
  totals.last_return = return_;
  return totals;
}

}  // namespace rdmove::ping
