// What of the kernel's words is kept, and how it is said again: messages made by hand.
#include "guestagent/agent/rtnetlink_replay.hpp"

#include <gmock/gmock.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>

#include <array>
#include <cstring>
#include <memory>

namespace rdmove::agent::test {
namespace {

using Message = std::unique_ptr<nl_msg, decltype(&nlmsg_free)>;

Message neighbour_message(std::uint16_t state, bool with_mac = true, int index = 3) {
  Message message(nlmsg_alloc_simple(RTM_NEWNEIGH, 0), &nlmsg_free);
  ndmsg header{};
  header.ndm_family = AF_INET;
  header.ndm_ifindex = index;
  header.ndm_state = state;
  nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO);
  const std::array<std::uint8_t, 4> address{10, 0, 0, 9};
  nla_put(message.get(), NDA_DST, address.size(), address.data());
  const std::array<std::uint8_t, 6> mac{2, 0, 0, 0, 0, 9};
  if (with_mac) nla_put(message.get(), NDA_LLADDR, mac.size(), mac.data());
  nda_cacheinfo age{};
  nla_put(message.get(), NDA_CACHEINFO, sizeof age, &age);
  return message;
}

std::optional<CapturedItem> kept(std::uint16_t state, bool with_mac = true, int index = 3) {
  return replay::neighbour(*nlmsg_hdr(neighbour_message(state, with_mac, index).get()), 3);
}

ndmsg again(const CapturedItem& item) {
  const auto bytes = replay::neighbour_for(item.message, 7);
  ndmsg header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

TEST(ReplayTest, neighbours_that_are_known_are_kept_and_no_others) {
  for (const std::uint16_t state : {NUD_PERMANENT, NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE}) {
    ASSERT_TRUE(kept(state)) << state;
    EXPECT_EQ(kept(state)->text, "10.0.0.9");
  }
  for (const std::uint16_t state : {NUD_INCOMPLETE, NUD_FAILED, NUD_NOARP})
    EXPECT_FALSE(kept(state)) << state;
  EXPECT_FALSE(kept(NUD_REACHABLE, false)) << "it says no MAC";
  EXPECT_FALSE(kept(NUD_REACHABLE, true, 4)) << "of another link";
}

TEST(ReplayTest, a_learnt_neighbour_comes_back_as_stale_and_a_permanent_one_as_permanent) {
  EXPECT_EQ(again(*kept(NUD_REACHABLE)).ndm_state, NUD_STALE);
  EXPECT_EQ(again(*kept(NUD_PROBE)).ndm_state, NUD_STALE);
  EXPECT_EQ(again(*kept(NUD_PERMANENT)).ndm_state, NUD_PERMANENT);
  EXPECT_EQ(again(*kept(NUD_REACHABLE)).ndm_ifindex, 7);
  EXPECT_TRUE(replay::is_learnt(kept(NUD_REACHABLE)->message));
  EXPECT_FALSE(replay::is_learnt(kept(NUD_PERMANENT)->message));
}

}  // namespace
}  // namespace rdmove::agent::test
