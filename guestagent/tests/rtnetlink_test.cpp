// Against the real kernel: a network namespace of its own, links made by hand, captured, deleted, made again,
// restored.
#include "guestagent/agent/rtnetlink.hpp"

#include "guestagent/agent/link_message.hpp"
#include "guestagent/agent/link_monitor.hpp"
#include "guestagent/tests/rtnetlink_fixture.hpp"

namespace rdmove::agent::test {
namespace {

using testing::IsEmpty;
using testing::IsSupersetOf;

TEST_F(RtnetlinkTest, everything_is_back_on_the_device_that_returns_under_another_name) {
  configure("nic0", [](rtnl_link*) {});
  dress(index_of("nic0"));
  const auto before = network->find(mac, DeviceKind::SoftRoce);
  ASSERT_TRUE(before);
  const auto captured = network->capture(*before);
  ASSERT_TRUE(captured) << captured.error().message;
  EXPECT_THAT(texts(captured->addresses),
              IsSupersetOf({"10.9.0.5/24", "10.9.0.6/24", "192.0.2.1/32", "fd00:9::5/64"}));
  EXPECT_EQ(texts(captured->routes),
            (std::vector<std::string>{"198.51.100.0/24 table 254", "2001:db8::/32 via fd00:9::1 table 254",
                                      "203.0.113.0/24 via 198.51.100.7 table 254",
                                      "default via 10.9.0.1 table 77"}));
  EXPECT_EQ(texts(captured->neighbours), (std::vector<std::string>{"10.9.0.77", "fd00:9::77"}));

  delete_link("nic0");
  EXPECT_FALSE(network->find(mac, DeviceKind::SoftRoce));
  ASSERT_TRUE(make_link("other7", 1500));
  configure("other7", [](rtnl_link*) {});  // as an eager network manager would: up, and so hard to rename
  const auto after = network->find(mac, DeviceKind::SoftRoce);
  ASSERT_TRUE(after);
  ASSERT_NE(after->index, before->index);

  const auto up = network->bring_up(*after, *captured);
  EXPECT_THAT(up.lost_addresses, IsEmpty());
  EXPECT_THAT(up.warnings, IsEmpty());
  EXPECT_THAT(network->put_routes(up.links, *captured), IsEmpty());
  EXPECT_THAT(network->put_routes(up.links, *captured), IsEmpty()) << "a second time is no error";

  const auto now = network->find(mac, DeviceKind::SoftRoce);
  EXPECT_EQ(now->name, "nic0");
  EXPECT_EQ(now->mtu, 1400U);
  EXPECT_TRUE(now->up);
  const auto again = network->capture(*now);
  ASSERT_TRUE(again);
  EXPECT_EQ(texts(again->addresses), texts(captured->addresses));
  EXPECT_EQ(texts(again->routes), texts(captured->routes));
  EXPECT_EQ(texts(again->neighbours), texts(captured->neighbours));
}

TEST_F(RtnetlinkTest, labels_lifetimes_and_metrics_survive_and_no_address_is_tentative) {
  configure("nic0", [](rtnl_link*) {});
  dress(index_of("nic0"));
  const auto captured = network->capture(*network->find(mac, DeviceKind::SoftRoce));
  delete_link("nic0");
  ASSERT_TRUE(make_link("nic0", 1500));
  const auto up = network->bring_up(*network->find(mac, DeviceKind::SoftRoce), *captured);
  network->put_routes(up.links, *captured);

  nl_cache* addresses = nullptr;
  ASSERT_EQ(rtnl_addr_alloc_cache(socket.get(), &addresses), 0);
  int checked = 0;
  bool labelled = false;
  bool limited = false;
  for (auto* object = nl_cache_get_first(addresses); object != nullptr; object = nl_cache_get_next(object)) {
    auto* address = reinterpret_cast<rtnl_addr*>(object);
    if (rtnl_addr_get_ifindex(address) != index_of("nic0")) continue;
    char bytes[64] = {};
    const std::string text = nl_addr2str(rtnl_addr_get_local(address), bytes, sizeof bytes);
    const auto known = texts(captured->addresses);  // the kernel's own link-local one may have come after it
    if (std::find(known.begin(), known.end(), text) != known.end()) {
      ++checked;
      EXPECT_EQ(rtnl_addr_get_flags(address) & IFA_F_TENTATIVE, 0U) << text;
    }
    const char* label = rtnl_addr_get_label(address);
    labelled |= label != nullptr && std::string(label) == "nic0:x";
    const auto valid = rtnl_addr_get_valid_lifetime(address);
    limited |= valid > 3900 && valid <= 4000;
  }
  nl_cache_free(addresses);
  EXPECT_GE(checked, 2);
  EXPECT_TRUE(labelled);
  EXPECT_TRUE(limited);

  nl_cache* routes = nullptr;
  ASSERT_EQ(rtnl_route_alloc_cache(socket.get(), AF_INET, 0, &routes), 0);
  bool metric = false;
  for (auto* object = nl_cache_get_first(routes); object != nullptr; object = nl_cache_get_next(object)) {
    auto* route = reinterpret_cast<rtnl_route*>(object);
    metric |= rtnl_route_get_priority(route) == 50;
  }
  nl_cache_free(routes);
  EXPECT_TRUE(metric);
}

TEST_F(RtnetlinkTest, a_device_that_never_left_is_left_as_it_is) {
  configure("nic0", [](rtnl_link*) {});
  dress(index_of("nic0"));
  const auto link = *network->find(mac, DeviceKind::SoftRoce);
  const auto captured = network->capture(link);
  const auto up = network->bring_up(link, *captured);
  EXPECT_THAT(up.lost_addresses, IsEmpty());
  EXPECT_THAT(network->put_routes(up.links, *captured), IsEmpty());
  EXPECT_EQ(texts(network->capture(link)->routes), texts(captured->routes));
  EXPECT_EQ(texts(network->capture(link)->addresses), texts(captured->addresses));
}

TEST_F(RtnetlinkTest, vlans_come_back_with_theirs) {
  configure("nic0", [](rtnl_link*) {});
  if (!add_vlan(index_of("nic0"), "nic0.5")) GTEST_SKIP() << "this kernel has no VLANs (module 8021q)";
  const VlanTag priorities{5, 0x8100, 0, {{3, 4}}, {{0, 3}, {6, 5}}};
  ASSERT_EQ(nl_send_sync(socket.get(), link_message::vlan_priorities(index_of("nic0.5"), priorities)), 0);
  add_address(index_of("nic0.5"), "10.5.0.5/24");
  add_route(index_of("nic0.5"), "10.55.0.0/24", "10.5.0.1", 254, 0);
  const auto captured = network->capture(*network->find(mac, DeviceKind::SoftRoce));
  ASSERT_EQ(captured->children.size(), 1U);
  EXPECT_EQ(captured->children[0].vlan->egress, priorities.egress);
  EXPECT_EQ(captured->children[0].vlan->ingress, priorities.ingress);
  delete_link("nic0");
  ASSERT_TRUE(make_link("nic0", 1500));
  const auto up = network->bring_up(*network->find(mac, DeviceKind::SoftRoce), *captured);
  EXPECT_THAT(up.warnings, IsEmpty());
  EXPECT_THAT(network->put_routes(up.links, *captured), IsEmpty());
  const auto again = network->capture(*network->find(mac, DeviceKind::SoftRoce));
  ASSERT_EQ(again->children.size(), 1U);
  EXPECT_EQ(again->children[0].vlan, captured->children[0].vlan);
  EXPECT_EQ(texts(again->children[0].routes), texts(captured->children[0].routes));
  EXPECT_THAT(texts(again->children[0].addresses), IsSupersetOf({"10.5.0.5/24"}));
}

TEST_F(RtnetlinkTest, keeps_the_present_name_when_the_old_one_is_taken) {
  configure("nic0", [](rtnl_link*) {});
  const auto captured = network->capture(*network->find(mac, DeviceKind::SoftRoce));
  delete_link("nic0");
  ASSERT_TRUE(make_link("other", 1500));
  configure("far", [](rtnl_link* far) { rtnl_link_unset_flags(far, IFF_UP); });
  configure("far", [](rtnl_link* far) { rtnl_link_set_name(far, "nic0"); });
  const auto up = network->bring_up(*network->find(mac, DeviceKind::SoftRoce), *captured);
  ASSERT_EQ(up.warnings.size(), 1U);
  EXPECT_EQ(up.links.at(0).netdev, "other");
  EXPECT_TRUE(network->find(mac, DeviceKind::SoftRoce)->up);
}

TEST_F(RtnetlinkTest, a_change_wakes_the_monitor) {
  boost::asio::io_context io(1);
  int changes = 0;
  const LinkMonitor monitor(io, *network,
                            {[&] { ++changes; }, [](const LinkInfo&) {}, [](const LinkInfo&) {}});
  io.poll();
  io.restart();
  EXPECT_EQ(io.poll(), 0U) << "nothing to do while nothing happens";
  configure("nic0", [](rtnl_link* link) { rtnl_link_set_mtu(link, 1300); });
  io.restart();
  io.run_one_for(std::chrono::seconds(5));
  EXPECT_GE(changes, 1);
}

}  // namespace
}  // namespace rdmove::agent::test
