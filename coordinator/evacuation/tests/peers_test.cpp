#include "coordinator/evacuation/peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove::evacuation {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const DomainUuid kOne("uuid-1");
const DomainUuid kTwo("uuid-2");
const DomainUuid kThree("uuid-3");

std::string status(const std::string& address, const std::string& gid = "") {
  return R"({"devices":[{"rdma":"rxe0","addresses":[")" + address + R"("],"gids":[)" +
         (gid.empty() ? "" : R"({"index":1,"gid":")" + gid + R"(","type":"RoCE v2"})") + "]}]}";
}

Conversation says(const std::string& own, const std::string& remote) {
  return {ownEndpoints(status(own)), remoteEndpoints(R"({"peers":[")" + remote + R"("]})")};
}

TEST(Peers, are_who_has_the_address_at_the_other_end_in_either_direction) {
  const auto peers = peersAmong({{kOne, says("10.77.0.1/24", "10.77.0.2")},
                                 {kTwo, says("10.77.0.2/24", "10.77.0.100")},
                                 {kThree, says("10.77.0.3/24", "10.77.0.100")}});
  EXPECT_THAT(peers, ElementsAre(std::pair(kOne, std::set{kTwo}), std::pair(kTwo, std::set{kOne})));
}

TEST(Peers, an_ipv4_address_and_its_roce_gid_are_one_endpoint) {
  const auto own = ownEndpoints(status("fe80::1/64", "0000:0000:0000:0000:0000:ffff:0a4d:0002"));
  EXPECT_TRUE(own.count(*remoteEndpoints(R"({"peers":["10.77.0.2"]})").begin()));
}

TEST(Peers, a_gid_of_infiniband_is_known_by_its_short_form) {
  const auto own = ownEndpoints(status("", "fe80:0000:0000:0000:0002:c903:000a:1b2c"));
  EXPECT_EQ(own, remoteEndpoints(R"({"peers":["fe80::2:c903:a:1b2c"]})"));
}

TEST(Peers, an_address_that_two_vms_have_is_nobodys) {
  EXPECT_THAT(peersAmong({{kOne, says("10.77.0.1/24", "10.77.0.9")},
                          {kTwo, says("10.77.0.9/24", "10.1.0.1")},
                          {kThree, says("10.77.0.9/24", "10.1.0.1")}}),
              IsEmpty());
}

TEST(Peers, who_talks_to_itself_or_over_loopback_has_no_peer) {
  EXPECT_THAT(
      peersAmong({{kOne, says("10.77.0.1/24", "10.77.0.1")}, {kTwo, says("127.0.0.1/8", "127.0.0.1")}}),
      IsEmpty());
  EXPECT_THAT(remoteEndpoints(R"({"peers":["127.0.0.1","::1","::","0.0.0.0"]})"), IsEmpty());
}

TEST(Peers, what_a_guest_says_may_be_anything) {
  for (const char* text :
       {"", "null", "[]", "7", "{", R"({"peers":7})", R"({"peers":[7,null,"x","10.0.0.0.1"]})",
        R"({"devices":[7,{"gids":[7,{"gid":9}],"addresses":{}}]})"}) {
    EXPECT_THAT(remoteEndpoints(text), IsEmpty()) << text;
    EXPECT_THAT(ownEndpoints(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace rdmove::evacuation
