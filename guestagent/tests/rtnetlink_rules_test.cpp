// Policy rules and alternative names against the real kernel, in a network namespace of its own.
#include <linux/fib_rules.h>
#include <netlink/route/rule.h>

#include "guestagent/agent/link_message.hpp"
#include "guestagent/tests/rtnetlink_fixture.hpp"

namespace rdmove::agent::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class RtnetlinkRulesTest : public RtnetlinkTest {
 protected:
  void SetUp() override {
    RtnetlinkTest::SetUp();
    if (!IsSkipped()) configure("nic0", [](rtnl_link*) {});
  }
  using Make = std::function<void(rtnl_rule*)>;
  void with_rule(unsigned priority, const Make& make, bool add) {
    rtnl_rule* rule = rtnl_rule_alloc();
    rtnl_rule_set_family(rule, AF_INET);
    rtnl_rule_set_prio(rule, priority);
    rtnl_rule_set_action(rule, FR_ACT_TO_TBL);
    make(rule);
    const int error = add ? rtnl_rule_add(socket.get(), rule, NLM_F_CREATE | NLM_F_EXCL)
                          : rtnl_rule_delete(socket.get(), rule, 0);
    EXPECT_EQ(error, 0) << priority;
    rtnl_rule_put(rule);
  }
  static void from_nic0(rtnl_rule* rule) {
    rtnl_rule_set_iif(rule, "nic0");
    rtnl_rule_set_table(rule, 77);
  }
  static void to_nic0(rtnl_rule* rule) {
    rtnl_rule_set_oif(rule, "nic0");
    rtnl_rule_set_mark(rule, 5);
    rtnl_rule_set_table(rule, 78);
  }
  static void other(rtnl_rule* rule) {
    nl_addr* source = parsed("10.9.0.5/32");
    rtnl_rule_set_src(rule, source);
    nl_addr_put(source);
    rtnl_rule_set_table(rule, 79);
  }
  std::vector<std::string> rules_of(const CapturedLink& captured) { return texts(captured.rules); }
  CapturedLink capture() { return *network->capture(*network->find(mac, DeviceKind::SoftRoce)); }
  std::vector<std::string> restore(const CapturedLink& captured) {
    const auto up = network->bring_up(*network->find(mac, DeviceKind::SoftRoce), captured);
    return network->put_routes(up.links, captured);
  }
};

TEST_F(RtnetlinkRulesTest, rules_that_name_the_device_are_captured_and_others_are_left_alone) {
  with_rule(100, from_nic0, true);
  with_rule(101, to_nic0, true);
  with_rule(102, other, true);
  const auto captured = capture();
  EXPECT_THAT(rules_of(captured), ElementsAre("rule 100 iif nic0 table 77", "rule 101 oif nic0 table 78"));
}

TEST_F(RtnetlinkRulesTest, a_rule_that_the_kernel_kept_is_not_doubled_and_one_that_is_gone_comes_back) {
  with_rule(100, from_nic0, true);
  with_rule(101, to_nic0, true);
  const auto captured = capture();
  delete_link("nic0");
  with_rule(101, to_nic0, false);
  ASSERT_TRUE(make_link("nic0", 1500));
  EXPECT_THAT(restore(captured), IsEmpty());
  EXPECT_EQ(rules_of(capture()), rules_of(captured));
  EXPECT_EQ(capture().rules[1].message, captured.rules[1].message) << "mark and all";
}

TEST_F(RtnetlinkRulesTest, rules_follow_the_device_to_another_name) {
  with_rule(100, from_nic0, true);
  const auto captured = capture();
  delete_link("nic0");
  ASSERT_TRUE(make_link("other", 1500));
  configure("far", [](rtnl_link* far) { rtnl_link_unset_flags(far, IFF_UP); });
  configure("far", [](rtnl_link* far) { rtnl_link_set_name(far, "nic0"); });
  EXPECT_THAT(restore(captured), IsEmpty());
  EXPECT_THAT(rules_of(capture()), ElementsAre("rule 100 iif other table 77"));
  const auto links = network->links();
  const auto foreign =
      std::find_if(links.begin(), links.end(), [](const auto& link) { return link.name == "nic0"; });
  ASSERT_NE(foreign, links.end());
  EXPECT_THAT(network->capture(*foreign)->rules, IsEmpty()) << "the other device has not got our rule";
}

TEST_F(RtnetlinkRulesTest, alternative_names_come_back) {
  NetlinkSocket ours(NETLINK_ROUTE);
  ASSERT_EQ(ours.send(link_message::add_alternative_name(index_of("nic0"), "rdmove-alternative0")), 0);
  const auto captured = capture();
  EXPECT_THAT(captured.altnames, ElementsAre("rdmove-alternative0"));
  delete_link("nic0");
  ASSERT_TRUE(make_link("nic0", 1500));
  EXPECT_THAT(restore(captured), IsEmpty());
  EXPECT_THAT(capture().altnames, ElementsAre("rdmove-alternative0"));
}

TEST_F(RtnetlinkRulesTest, the_name_comes_back_although_udev_made_it_an_alternative_one) {
  const auto captured = capture();
  delete_link("nic0");
  ASSERT_TRUE(make_link("other", 1500));
  NetlinkSocket ours(NETLINK_ROUTE);
  ASSERT_EQ(ours.send(link_message::add_alternative_name(index_of("other"), "nic0")), 0);
  const auto up = network->bring_up(*network->find(mac, DeviceKind::SoftRoce), captured);
  EXPECT_THAT(up.warnings, IsEmpty());
  EXPECT_EQ(up.links.at(0).netdev, "nic0");
}

}  // namespace
}  // namespace rdmove::agent::test
