#include "coordinator/fabric/inventory/dcb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include "coordinator/fabric/identity/vf_message.hpp"

namespace rdmove::fabric {
namespace {

NetlinkOwned<nl_msg> answerWith(const ieee_pfc* pfc, const ieee_ets* ets, int type = RTM_GETDCB) {
  NetlinkOwned<nl_msg> answer(nlmsg_alloc_simple(type, 0));
  dcbmsg header{};
  header.cmd = DCB_CMD_IEEE_GET;
  nlmsg_append(answer.get(), &header, sizeof header, NLMSG_ALIGNTO);
  nla_put_string(answer.get(), DCB_ATTR_IFNAME, "ens1");
  nlattr* all = nla_nest_start(answer.get(), DCB_ATTR_IEEE);
  if (ets != nullptr) nla_put(answer.get(), DCB_ATTR_IEEE_ETS, sizeof *ets, ets);
  if (pfc != nullptr) nla_put(answer.get(), DCB_ATTR_IEEE_PFC, sizeof *pfc, pfc);
  nla_nest_end(answer.get(), all);
  return answer;
}

TEST(DcbTest, an_answer_of_the_kernels_is_words) {
  ieee_pfc pfc{};
  pfc.pfc_en = 1U << 3 | 1U << 4;
  ieee_ets ets{};
  ets.prio_tc[3] = 1;
  ets.prio_tc[6] = 2;
  ets.tc_tsa[0] = ets.tc_tsa[1] = IEEE_8021QAZ_TSA_ETS;
  ets.tc_tx_bw[0] = 40;
  ets.tc_tx_bw[1] = 60;
  const auto dcb = dcbOf(answerWith(&pfc, &ets).get());
  ASSERT_TRUE(dcb);
  EXPECT_EQ(dcb->pfc, "3,4");
  EXPECT_EQ(dcb->ets, "class 0 (0,1,2,4,5,7): ets 40 %; class 1 (3): ets 60 %; class 2 (6): strict");
  pfc.pfc_en = 0;
  EXPECT_EQ(dcbOf(answerWith(&pfc, nullptr).get()), (Dcb{"none", ""}));
}

TEST(DcbTest, an_answer_that_says_nothing_of_pfc_is_none) {
  ieee_pfc pfc{};
  ieee_ets ets{};
  ets.prio_tc[0] = 255;  // out of range in a driver is not out of range here
  EXPECT_FALSE(dcbOf(answerWith(nullptr, &ets).get()));
  EXPECT_TRUE(dcbOf(answerWith(&pfc, &ets).get()));
  EXPECT_FALSE(dcbOf(answerWith(&pfc, &ets, RTM_NEWLINK).get()));
}

TEST(DcbTest, the_loopback_device_has_none) {
  EXPECT_EQ(makeDcbPorts()->of("lo"), std::nullopt);
  EXPECT_EQ(makeDcbPorts()->of("no-such-device"), std::nullopt);
}

}  // namespace
}  // namespace rdmove::fabric
