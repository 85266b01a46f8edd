#include "guestagent/agent/dhcp/confirmations.hpp"

#include <net/ethernet.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <random>

#include "guestagent/agent/dhcp/udp.hpp"

namespace rdmove::agent::dhcp {
namespace {

constexpr std::uint16_t client_port = 68;
constexpr int most_packets_at_once = 16;  // somebody may flood us

std::uint32_t random_number() {
  std::random_device source;
  return source();
}

}  // namespace

struct Confirmations::Conversation {
  Conversation(boost::asio::io_context& io, RestoredLink restored, Lease captured)
      : link(std::move(restored)), lease(std::move(captured)), socket(ETHERTYPE_IP), readable(io) {}

  RestoredLink link;
  Lease lease;
  std::function<void(const std::string&)> warn;
  PacketSocket socket;
  boost::asio::posix::stream_descriptor readable;
  std::unique_ptr<Exchange> exchange;
  bool over = false;
};

Confirmations::Confirmations(boost::asio::io_context& io, Timers& timers, LeasedAddresses& addresses,
                             std::filesystem::path root, std::filesystem::path proc)
    : io_(io), timers_(timers), addresses_(addresses), root_(std::move(root)), proc_(std::move(proc)) {}

Confirmations::~Confirmations() = default;

std::vector<Lease> Confirmations::find(const CapturedLink& link) {
  for (const auto& conversation : running_) {
    conversation->over |= conversation->link.index == link.index;
    for (const auto& child : link.children) conversation->over |= conversation->link.index == child.index;
    if (conversation->over) conversation->readable.close();
  }
  std::erase_if(running_, [](const auto& conversation) { return conversation->over; });
  return leases_on(link, root_, proc_);
}

void Confirmations::confirm(const RestoredLink& link, const Lease& lease,
                            std::function<void(const std::string&)> warn) {
  boost::system::error_code error;
  const auto address =
      boost::asio::ip::make_address_v4(lease.address.substr(0, lease.address.find('/')), error);
  if (error) return;
  auto conversation = std::make_shared<Conversation>(io_, link, lease);
  conversation->warn = std::move(warn);
  if (!conversation->socket.receive_udp(link.index, client_port)) {
    return conversation->warn(
        fmt::format("DHCP on {}: no packet socket: {}", link.netdev, std::strerror(errno)));
  }
  conversation->readable.assign(::dup(conversation->socket.fd()));
  const auto send = [this, weak = std::weak_ptr(conversation)](const Bytes& message) {
    const auto alive = weak.lock();
    // A link that is away loses the question as a wire would: the next try, or silence, deals with it.
    if (alive && !alive->socket.send(alive->link.index, broadcast_of(alive->link), to_packet(message))) {
      spdlog::debug("netdev={} DHCP question not sent: {}", alive->link.netdev, std::strerror(errno));
    }
  };
  conversation->exchange = std::make_unique<Exchange>(
      timers_, send, random_number, Client{link.address, lease.identifier}, lease.identity, address,
      [this, conversation = conversation.get()](const Outcome& outcome) { ended(*conversation, outcome); });
  running_.push_back(conversation);
  spdlog::info("netdev={} address={} client={} phase=dhcp the lease is asked for again", link.netdev,
               lease.address, lease.client);
  listen(conversation);
  conversation->exchange->start();
}

void Confirmations::listen(const std::shared_ptr<Conversation>& conversation) {
  conversation->readable.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                    [this, conversation](const boost::system::error_code& error) {
                                      if (error || conversation->over) return;
                                      for (int i = 0; i < most_packets_at_once && !conversation->over; ++i) {
                                        const auto packet = conversation->socket.receive();
                                        if (!packet) break;
                                        if (const auto message = message_in(*packet); !message.empty()) {
                                          conversation->exchange->received(message);
                                        }
                                      }
                                      if (!conversation->over) listen(conversation);
                                    });
}

// Called by the exchange, which must outlive the call: it goes with the conversation, on the loop's next
// turn.
void Confirmations::ended(Conversation& conversation, const Outcome& outcome) {
  conversation.over = true;
  conversation.readable.close();
  const auto& [link, lease] = std::tie(conversation.link, conversation.lease);
  int error = 0;
  switch (outcome.kind) {
    case Outcome::Kind::Confirmed:
      error = addresses_.extend(link.index, lease.address, *outcome.lease->lease);
      spdlog::info("netdev={} address={} phase=dhcp confirmed lease_s={}", link.netdev, lease.address,
                   outcome.lease->lease->count());
      break;
    case Outcome::Kind::Replaced:
      error = addresses_.replace(link.index, lease.address, *outcome.lease);
      conversation.warn(fmt::format("DHCP on {}: the server refused {} and gave {}", link.netdev,
                                    lease.address, outcome.lease->address.to_string()));
      break;
    case Outcome::Kind::Silent:
      conversation.warn(
          fmt::format("DHCP on {}: no answer; {} is used within its lifetime", link.netdev, lease.address));
      break;
    case Outcome::Kind::Refused:
      conversation.warn(
          fmt::format("DHCP on {}: {} was refused, and nothing usable offered; it is used within its "
                      "lifetime. Look at the server and at client {}",
                      link.netdev, lease.address, lease.client));
      break;
  }
  if (error != 0) {
    conversation.warn(fmt::format("DHCP on {}: the lease of {} was not taken over: {}", link.netdev,
                                  lease.address, std::strerror(error)));
  }
  boost::asio::post(io_, [this] { std::erase_if(running_, [](const auto& each) { return each->over; }); });
}

}  // namespace rdmove::agent::dhcp
