#include "guestagent/ping/server.hpp"

#include <fmt/format.h>

#include <utility>

namespace rdmove::ping {
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
  const auto introduction = read_introduction(request.private_data());
  if (!introduction) {
    say(options_, fmt::format("server: {} is not rdmove-ping: rejected", request.peer().text()));
    return request.reject();
  }
  auto session = std::make_unique<ServerEnd>(
      next_, [this](const std::string& line) { say(options_, line); }, [this] { has_one_ended_ = true; });
  auto channel = failover::Channel::accept(request, channel_options(options_, introduction->size), *session);
  if (!channel) {
    say(options_, fmt::format("server: {}: {}", request.peer().text(), channel.error().message));
    return;
  }
  session->own(std::move(*channel));
  if (introduction->one_sided.is_any()) {
    const auto shown = session->show_ring(introduction->one_sided, introduction->size);
    if (!shown)
      return say(options_, fmt::format("server: {}: {}", request.peer().text(), shown.error().message));
  }
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
