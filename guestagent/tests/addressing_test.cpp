// prepare and restore with somebody else who sets the addresses, leased addresses, and settings of the RDMA
// device.
#include "guestagent/tests/moves_fixture.hpp"

namespace rdmove::agent::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

class ManagedTest : public MovesTest {
 protected:
  void prepare_managed() {
    managers.name = "NetworkManager";
    leases.on_device = {{"eth0", 2, "10.0.0.5/24", "unknown", {}, dhcp::Identity::Assumed}};
    prepare_fully();
    replug(3, "eth0");
  }
};

TEST_F(ManagedTest, the_addresses_are_left_to_the_manager_and_the_answer_says_so) {
  prepare_managed();
  restore();
  EXPECT_THAT(restored, IsEmpty());
  network.present = {"10.0.0.5/24", "fe80::1/64"};
  address_events.change();
  ASSERT_EQ(restored.size(), 1U);
  ASSERT_TRUE(restored[0]) << restored[0].error().message;
  EXPECT_EQ(restored[0]->devices[0].managed_by, "NetworkManager");
  EXPECT_THAT(restored[0]->warnings, IsEmpty());
  EXPECT_EQ(network.brought_up, 0);
  EXPECT_THAT(leases.confirmed, IsEmpty()) << "leases are the manager's too";
  EXPECT_FALSE(address_events.watched());
  EXPECT_TRUE(timers.idle());
}

TEST_F(ManagedTest, a_manager_that_does_nothing_has_half_of_the_deadline) {
  prepare_managed();
  restore();
  timers.advance(milliseconds(499));
  EXPECT_EQ(network.brought_up, 0);
  timers.advance(milliseconds(1));
  ASSERT_EQ(restored.size(), 1U);
  ASSERT_TRUE(restored[0]);
  EXPECT_EQ(network.brought_up, 1);
  EXPECT_EQ(restored[0]->devices[0].managed_by, "");
  EXPECT_THAT(restored[0]->warnings, ElementsAre(HasSubstr("NetworkManager did not put 10.0.0.5/24 back")));
}

TEST_F(ManagedTest, routes_are_waited_for_as_addresses_are) {
  prepare_managed();
  network.present = {"10.0.0.5/24"};
  network.state.routes.clear();
  restore();
  EXPECT_THAT(restored, IsEmpty());
  network.state.routes = {{"default", {2}}};
  address_events.change();
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_EQ(restored[0]->devices[0].managed_by, "NetworkManager");
  EXPECT_EQ(network.brought_up, 0);
}

TEST_F(ManagedTest, a_route_that_the_manager_does_not_put_back_is_put_back_and_named) {
  prepare_managed();
  network.present = {"10.0.0.5/24"};
  network.state.routes.clear();
  restore();
  timers.advance(milliseconds(500));
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_EQ(network.brought_up, 1);
  EXPECT_THAT(restored[0]->warnings, ElementsAre(HasSubstr("NetworkManager did not put default back")));
}

TEST_F(ManagedTest, what_the_kernel_makes_by_itself_is_not_waited_for) {
  network.state.addresses.push_back({"fe80::9/64", {}});
  network.state.addresses.push_back({"2001:db8::7/64", {}, true});
  prepare_managed();
  network.present = {"10.0.0.5/24"};
  restore();
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_EQ(restored[0]->devices[0].managed_by, "NetworkManager");
}

TEST_F(ManagedTest, the_device_may_go_and_come_again_meanwhile) {
  prepare_managed();
  restore();
  replug(7, "eth0");
  network.present = {"10.0.0.5/24"};
  address_events.change();
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
}

TEST_F(MovesTest, a_lease_is_asked_for_again_and_nothing_waits_for_it) {
  leases.on_device = {{"eth0", 2, "10.0.0.5/24", "dhclient", {}, dhcp::Identity::Known}};
  prepare_fully();
  restart_agent();
  network.unplug();
  restore();
  EXPECT_THAT(leases.confirmed, IsEmpty());
  network.plug(3, "eth1");
  moves->links_changed();
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
  EXPECT_THAT(leases.confirmed, ElementsAre("eth0 10.0.0.5/24"));
  leases.warn("late");  // the restore is over
}

TEST_F(MovesTest, what_the_dhcp_server_says_in_time_is_in_the_answer) {
  leases.on_device = {{"eth0", 2, "10.0.0.5/24", "dhclient", {}, dhcp::Identity::Known}};
  prepare_fully();
  replug();
  rdma.gids_are_there = false;
  restore();
  leases.warn("the server refused 10.0.0.5/24");
  rdma.gids_are_there = true;
  timers.advance(milliseconds(10));
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_THAT(restored[0]->warnings, Contains("the server refused 10.0.0.5/24"));
}

TEST_F(MovesTest, how_the_subnet_manager_knew_the_port_and_knows_it_now_is_told) {
  rdma.port = protocol::SubnetPort{0x1b, {0xffff, 0x8001}, {"fe80:0000:0000:0000:0002:c903:000a:1b2c"}};
  prepare_fully();
  replug();
  const auto before = rdma.port;
  rdma.port->lid = 0x2c;
  restore();
  ASSERT_EQ(restored.size(), 1U);
  ASSERT_TRUE(restored[0]) << restored[0].error().message;
  EXPECT_EQ(restored[0]->devices[0].port_before, before);
  EXPECT_EQ(restored[0]->devices[0].port, rdma.port);
}

TEST_F(MovesTest, gids_that_may_be_new_are_not_waited_for) {
  prepare_fully();
  replug();
  rdma.gids_are_there = false;
  auto device = soft;
  device.may_have_new_gids = true;
  restore(m1, device);
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
}

class GidEventTest : public MovesTest {
 protected:
  void wait_for_gid() {
    gid_events.can_open = true;
    prepare_fully();
    replug();
    rdma.gids_are_there = false;
    restore();
    EXPECT_THAT(restored, IsEmpty());
    EXPECT_EQ(gid_events.open, "rxe0");
  }
};

TEST_F(GidEventTest, the_kernels_event_ends_the_wait_and_the_device_is_closed_again) {
  wait_for_gid();
  rdma.gids_are_there = true;
  gid_events.change();
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_TRUE(restored[0]);
  EXPECT_EQ(gid_events.open, "");
  EXPECT_TRUE(timers.idle());
}

TEST_F(GidEventTest, a_lost_event_costs_a_tenth_of_a_second) {
  wait_for_gid();
  rdma.gids_are_there = true;
  timers.advance(milliseconds(99));
  EXPECT_THAT(restored, IsEmpty());
  timers.advance(milliseconds(1));
  EXPECT_EQ(restored.size(), 1U);
}

TEST_F(GidEventTest, a_device_that_leaves_again_is_not_held) {
  wait_for_gid();
  network.unplug();
  moves->links_changed();
  EXPECT_EQ(gid_events.open, "");
}

TEST_F(GidEventTest, it_is_closed_at_the_deadline_and_the_missing_gid_is_named) {
  wait_for_gid();
  timers.advance(milliseconds(1000));
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_THAT(restored[0].error().message, HasSubstr("gid 0000:0000:0000:0000:0000:ffff:0a00:0005"));
  EXPECT_EQ(gid_events.open, "");
}

TEST_F(GidEventTest, the_device_is_not_opened_if_nothing_is_missing) {
  gid_events.can_open = true;
  prepare_fully();
  replug();
  restore();
  EXPECT_EQ(restored.size(), 1U);
  EXPECT_EQ(gid_events.open, "");
}

TEST_F(MovesTest, settings_of_the_rdma_device_are_put_on_its_successor) {
  const std::vector<RdmaSetting> set{{"1", "default_roce_tos", "104"}};
  rdma_settings.of_device["rxe0"] = set;
  prepare_fully();
  rdma_settings.of_device.clear();
  rdma.devices.push_back({"rxe0", "eth7"});
  replug();
  rdma_settings.refused = {"default_roce_tos 104 of rxe1 port 1: Invalid argument"};
  restore();
  EXPECT_EQ(rdma_settings.of_device["rxe1"], set);
  EXPECT_THAT(restored.at(0)->warnings, ElementsAre(HasSubstr("default_roce_tos 104")));
}

}  // namespace
}  // namespace rdmove::agent::test
