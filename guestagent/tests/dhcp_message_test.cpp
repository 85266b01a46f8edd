#include <gmock/gmock.h>

#include <random>

#include "guestagent/agent/dhcp/udp.hpp"
#include "guestagent/tests/dhcp_parts.hpp"

namespace rdmove::agent::test {
namespace {

using namespace dhcp;

const Client ethernet{ethernet_address, {}};
const Client infiniband{ipoib_address,
                        infiniband_identifier(*protocol::PortGuid::parse("00:02:c9:03:00:0a:1b:2c"))};
const Query reboot{Type::Request, 0x01020304, 7, boost::asio::ip::make_address_v4("10.0.0.5"), {}};
const auto good_options = server_option + lease_option + from_hex("01 04 ffffff00 03 04 0a0000fe");

TEST(DhcpMessage, asks_on_ethernet_by_hardware_address) {
  const auto bytes = to_bytes(ethernet, reboot);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 44),
            from_hex("01 01 06 00 01020304 0007 0000 00000000 00000000 00000000 00000000"
                     "52:54:00:00:00:01 00000000000000000000"));
  EXPECT_EQ(option(bytes, 53), from_hex("03"));
  EXPECT_EQ(option(bytes, 50), from_hex("0a000005"));
  EXPECT_EQ(option(bytes, 54), Bytes{}) << "RFC 2131: no server in INIT-REBOOT";
  EXPECT_EQ(option(bytes, 61), Bytes{});
  EXPECT_GE(bytes.size(), 300U);
}

// RFC 4390: hardware type 32, no hardware address, the broadcast flag, an identifier.
TEST(DhcpMessage, asks_on_infiniband_by_identifier) {
  const auto bytes = to_bytes(infiniband, reboot);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 44),
            from_hex("01 20 00 00 01020304 0007 8000 00000000 00000000 00000000 00000000"
                     "00000000000000000000000000000000"));
  EXPECT_EQ(option(bytes, 61), from_hex("ff 00000000 0002 000002c9 00 0002c903000a1b2c"));
}

TEST(DhcpMessage, reads_an_answer) {
  const auto reply =
      parse_reply(answer(to_bytes(ethernet, reboot), 5, "10.0.0.5", good_options), ethernet, 0x01020304);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->type, Type::Ack);
  EXPECT_EQ(reply->address.to_string(), "10.0.0.5");
  EXPECT_EQ(reply->server->to_string(), "10.0.0.1");
  EXPECT_EQ(reply->router->to_string(), "10.0.0.254");
  EXPECT_EQ(reply->prefix, 24);
  EXPECT_EQ(reply->lease, std::chrono::seconds(3600));
  EXPECT_TRUE(
      parse_reply(answer(to_bytes(infiniband, reboot), 5, "10.0.0.5", good_options), infiniband, 0x01020304));
}

TEST(DhcpMessage, drops_what_is_for_somebody_else) {
  const auto query = to_bytes(ethernet, reboot);
  const auto good = answer(query, 5, "10.0.0.5", good_options);
  EXPECT_FALSE(parse_reply(good, ethernet, 0x01020305)) << "another transaction";
  EXPECT_FALSE(parse_reply(good, Client{from_hex("52:54:00:00:00:02"), {}}, 0x01020304));
  EXPECT_FALSE(parse_reply(query, ethernet, 0x01020304)) << "a question";
  const auto other_id = good_options + from_hex("3d 02 0102");
  EXPECT_FALSE(
      parse_reply(answer(to_bytes(infiniband, reboot), 5, "10.0.0.5", other_id), infiniband, 0x01020304));
}

TEST(DhcpMessage, drops_what_no_server_would_say) {
  const auto query = to_bytes(ethernet, reboot);
  const auto parse = [&](std::uint8_t type, const std::string& address, const Bytes& options) {
    return parse_reply(answer(query, type, address, options), ethernet, 0x01020304);
  };
  for (const char* address :
       {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1"}) {
    EXPECT_FALSE(parse(5, address, good_options)) << address;
  }
  EXPECT_FALSE(parse(5, "10.0.0.5", server_option)) << "no lease time";
  EXPECT_FALSE(parse(5, "10.0.0.5", server_option + from_hex("33 04 00000000"))) << "a lease of nothing";
  EXPECT_FALSE(parse(5, "10.0.0.5", lease_option)) << "no server";
  EXPECT_FALSE(parse(9, "10.0.0.5", good_options)) << "no such type";
  EXPECT_FALSE(parse(5, "10.0.0.5", good_options + from_hex("0c 20 41"))) << "an option runs over the end";
  EXPECT_FALSE(parse(5, "10.0.0.5", server_option + lease_option + from_hex("01 04 ff00ff00"))->prefix);
  EXPECT_FALSE(parse(5, "10.0.0.5", server_option + lease_option + from_hex("01 02 ff00"))->prefix);
}

TEST(DhcpMessage, survives_every_cut_and_random_bytes) {
  const auto good = answer(to_bytes(ethernet, reboot), 5, "10.0.0.5", good_options);
  const auto packet = to_packet(good);
  std::mt19937 random(4711);
  for (std::size_t size = 0; size <= good.size(); ++size) {
    parse_reply(std::span(good).first(size), ethernet, 0x01020304);
    message_in(std::span(packet).first(size));
  }
  for (int i = 0; i < 20'000; ++i) {
    auto spoilt = good;
    for (int n = 0; n < 4; ++n)
      spoilt[240 + random() % (spoilt.size() - 240)] = static_cast<std::uint8_t>(random());
    parse_reply(spoilt, ethernet, 0x01020304);
    auto frame = to_packet(spoilt);
    for (int n = 0; n < 3; ++n) frame[random() % 28] = static_cast<std::uint8_t>(random());
    const auto view = message_in(frame);
    EXPECT_LE(view.size(), frame.size());
  }
}

TEST(DhcpUdp, has_right_checksums) {
  const auto packet = to_packet(from_hex("01 02 03"));
  EXPECT_EQ(packet, from_hex("45 00 001f 0000 0000 40 11 7acf 00000000 ffffffff 0044 0043 000b fb4f 010203"));
}

TEST(DhcpUdp, takes_only_a_whole_packet_from_a_server_to_a_client) {
  auto packet = to_packet(from_hex("01 02 03"));
  EXPECT_TRUE(message_in(packet).empty()) << "that is a question";
  std::swap(packet[21], packet[23]);
  const auto view = message_in(packet);
  EXPECT_EQ(Bytes(view.begin(), view.end()), from_hex("01 02 03"));
  for (const auto& [at, value] :
       {std::pair(0, 0x65), {0, 0x46}, {6, 0x20}, {7, 1}, {9, 6}, {25, 200}, {25, 2}, {3, 200}}) {
    auto bad = packet;
    bad[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value);
    EXPECT_TRUE(message_in(bad).empty()) << at;
  }
}

TEST(DhcpMessage, finds_the_identifier_in_a_stored_answer) {
  const auto stored =
      answer(to_bytes(ethernet, reboot), 5, "10.0.0.5", good_options + from_hex("3d 03 ff0102"));
  EXPECT_EQ(identifier_in(stored, boost::asio::ip::make_address_v4("10.0.0.5")), from_hex("ff0102"));
  EXPECT_FALSE(identifier_in(stored, boost::asio::ip::make_address_v4("10.0.0.6")));
  EXPECT_FALSE(identifier_in(from_hex("0102"), boost::asio::ip::make_address_v4("10.0.0.5")));
}

}  // namespace
}  // namespace rdmove::agent::test
