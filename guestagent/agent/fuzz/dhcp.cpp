// What comes from anyone on the link: a packet, and in it a DHCP message; or the message alone, as it is
// stored.
#include "guestagent/agent/dhcp/message.hpp"
#include "guestagent/agent/dhcp/udp.hpp"

#include "guestagent/fuzz/target.hpp"

namespace rdmove::agent::dhcp {
namespace {

using fuzz::require;

constexpr std::uint32_t transaction =
    0x01020304;  // ours, and the same each time, so that the rest is reached

bool is_of_a_host(const Ipv4& address) {
  return !address.is_unspecified() && !address.is_multicast() && !address.is_loopback();
}

void check_reply(const std::optional<Reply>& reply) {
  if (!reply) return;
  require(!reply->server || is_of_a_host(*reply->server), "a server is nobody");
  if (reply->type == Type::Nak) return;
  require(reply->type == Type::Ack || reply->type == Type::Offer, "a question is taken for an answer");
  require(reply->server.has_value(), "an answer is from no server");
  require(is_of_a_host(reply->address), "an address is no host's");
  require(!reply->router || is_of_a_host(*reply->router), "a router is nobody");
  require(!reply->prefix || (*reply->prefix >= 1 && *reply->prefix <= 32), "a prefix is none");
  require(reply->type == Type::Offer || (reply->lease && reply->lease->count() > 0),
          "a lease is over at once");
}

}  // namespace
}  // namespace rdmove::agent::dhcp

void rdmove::fuzz::run(std::span<const std::uint8_t> input) {
  using namespace rdmove::agent;
  const dhcp::Client ethernet{{0x52, 0x54, 0, 0, 0, 1}, {}};
  const dhcp::Client infiniband{Bytes(20, 1), {0xff, 0}};
  const auto message = dhcp::message_in(input);
  require(message.empty() || (message.data() > input.data() &&
                              message.data() + message.size() <= input.data() + input.size()),
          "a message is not in its packet");
  for (const auto& each : {message, input}) {
    dhcp::check_reply(dhcp::parse_reply(each, ethernet, dhcp::transaction));
    dhcp::check_reply(dhcp::parse_reply(each, infiniband, dhcp::transaction));
    const auto identifier = dhcp::identifier_in(each, dhcp::Ipv4(0x0a000005));
    require(!identifier || (!identifier->empty() && identifier->size() <= 255), "an identifier is none");
  }
}
