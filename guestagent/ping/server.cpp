#include "guestagent/ping/server.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace rdmove::ping {
namespace {

constexpr std::uint32_t kIntroduction = 0x676e6970;  // "ping"

}  // namespace

std::vector<std::byte> write_introduction(std::uint32_t size) {
  std::vector<std::byte> data(8);
  std::memcpy(&data[0], &kIntroduction, 4);
  std::memcpy(&data[4], &size, 4);
  return data;
}

std::optional<std::uint32_t> read_introduction(std::span<const std::byte> data) {
  std::uint32_t words[2];
  // RDMA CM may pad private data with zeros.
  if (data.size() < sizeof words) return std::nullopt;
  std::memcpy(words, data.data(), sizeof words);
  if (words[0] != kIntroduction || words[1] < kSmallest || words[1] > kLargest) return std::nullopt;
  return words[1];
}

failover::ChannelOptions channel_options(const Options& options, std::uint32_t size) {
  failover::ChannelOptions channel;
  channel.message_limit = size;
  channel.send_slots = channel.receive_slots = 32;
  channel.connection.give_up_after = options.give_up;
  return channel;
}

failover::Result<void> Server::start(failover::Loop& loop) {
  const auto address = failover::SocketAddress::parse(options_.address, options_.port);
  if (!address) return tl::unexpected(address.error());
  auto listener = failover::Listener::listen(loop, *address, *this, failover::AddressPolicy::MayCome);
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  say(options_,
      fmt::format("server: {} {}", listener_->is_listening() ? "listening on" : "waiting for the address",
                  address->text()));
  return {};
}

void Server::requested(failover::ConnectionRequest& request) {
  const auto size = read_introduction(request.private_data());
  if (!size) {
    say(options_, fmt::format("server: {} is not rdmove-ping: rejected", request.peer().text()));
    return request.reject();
  }
  auto session = std::make_unique<ServerEnd>(
      next_, [this](const std::string& line) { say(options_, line); }, [this] { has_one_ended_ = true; });
  auto channel = failover::Channel::accept(request, channel_options(options_, *size), *session);
  if (!channel) {
    say(options_, fmt::format("server: {}: {}", request.peer().text(), channel.error().message));
    return;
  }
  session->own(std::move(*channel));
  sessions_.emplace(next_++, std::move(session));
}

// Sessions that are over are kept for the summary's totals only: clients may come and go for years.
Clock::time_point Server::tick(Clock::time_point now) {
  const bool look = std::exchange(has_one_ended_, false);
  for (auto at = sessions_.begin(); look && at != sessions_.end();) {
    if (!at->second->is_gone()) {
      ++at;
      continue;
    }
    say(options_, to_text(at->second->report()));
    ended_.add(at->second->report());
    at = sessions_.erase(at);
  }
  return now + std::chrono::seconds(1);
}

std::vector<ConnectionReport> Server::report() const {
  std::vector<ConnectionReport> all;
  for (const auto& [number, session] : sessions_) all.push_back(session->report());
  return all;
}

Totals Server::totals() const {
  Totals totals = ended_;
  for (const auto& connection : report()) totals.add(connection);
  return totals;
}

}  // namespace rdmove::ping
