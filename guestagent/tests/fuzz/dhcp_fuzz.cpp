// libFuzzer's entry for what comes from anyone on the link: a packet, and in it a DHCP message.
#include <cstddef>
#include <cstdint>

#include "guestagent/agent/dhcp/message.hpp"
#include "guestagent/agent/dhcp/udp.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rdmove::agent;
  const dhcp::Client ethernet{{0x52, 0x54, 0, 0, 0, 1}, {}};
  const dhcp::Client infiniband{Bytes(20, 1), {0xff, 0}};
  const std::span input(data, size);
  const auto message = dhcp::message_in(input);
  for (const auto& each : {message, input}) {
    // The transaction is ours and the same each time, so that the rest is reached.
    dhcp::parse_reply(each, ethernet, 0x01020304);
    dhcp::parse_reply(each, infiniband, 0x01020304);
    dhcp::identifier_in(each, dhcp::Ipv4(0x0a000005));
  }
  return 0;
}
