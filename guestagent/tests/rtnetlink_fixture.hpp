// A network namespace of its own with a veth pair "nic0" and "far", and the hands to dress it.
#pragma once

#include <gmock/gmock.h>
#include <linux/neighbour.h>
#include <net/if.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/link/vlan.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <sched.h>

#include <memory>

#include "guestagent/agent/rtnetlink.hpp"
#include "guestagent/tests/fakes.hpp"

namespace rdmove::agent::test {

class RtnetlinkTest : public testing::Test {
 protected:
  // The thread stays in its namespace: each case makes a new one.
  void SetUp() override {
    if (::unshare(CLONE_NEWNET) != 0)
      GTEST_SKIP() << "no network namespace (run as root): " << std::strerror(errno);
    network = std::make_unique<Rtnetlink>("/sys-that-is-not-there");
    socket.reset(nl_socket_alloc());
    ASSERT_EQ(nl_connect(socket.get(), NETLINK_ROUTE), 0);
    if (!make_link("nic0", 1400)) GTEST_SKIP() << "this kernel has no veth";
    configure("lo", [](rtnl_link*) {});
  }

  bool make_link(const std::string& name, unsigned mtu) {
    rtnl_link* link = rtnl_link_veth_alloc();
    rtnl_link_set_name(link, name.c_str());
    rtnl_link_set_mtu(link, mtu);
    nl_addr* address = nl_addr_build(AF_LLC, mac.bytes().data(), 6);
    rtnl_link_set_addr(link, address);
    nl_addr_put(address);
    rtnl_link* peer = rtnl_link_veth_get_peer(link);  // a reference of our own
    rtnl_link_set_name(peer, "far");
    rtnl_link_put(peer);
    const int error = rtnl_link_add(socket.get(), link, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_veth_release(link);
    if (error < 0) return false;
    configure("far", [](rtnl_link*) {});
    return true;
  }
  void configure(const std::string& name, const std::function<void(rtnl_link*)>& set) {
    rtnl_link* original = nullptr;
    ASSERT_EQ(rtnl_link_get_kernel(socket.get(), 0, name.c_str(), &original), 0) << name;
    rtnl_link* changes = rtnl_link_alloc();
    rtnl_link_set_flags(changes, IFF_UP);
    set(changes);
    EXPECT_EQ(rtnl_link_change(socket.get(), original, changes, 0), 0) << name;
    rtnl_link_put(changes);
    rtnl_link_put(original);
  }
  int index_of(const std::string& name) { return static_cast<int>(::if_nametoindex(name.c_str())); }
  void delete_link(const std::string& name) {
    rtnl_link* link = rtnl_link_alloc();
    rtnl_link_set_ifindex(link, index_of(name));
    EXPECT_EQ(rtnl_link_delete(socket.get(), link), 0);
    rtnl_link_put(link);
  }
  static nl_addr* parsed(const char* text) {
    nl_addr* out = nullptr;
    EXPECT_EQ(nl_addr_parse(text, AF_UNSPEC, &out), 0) << text;
    return out;
  }
  void add_address(int index, const char* text, const char* label = nullptr, unsigned valid = 0) {
    rtnl_addr* address = rtnl_addr_alloc();
    rtnl_addr_set_ifindex(address, index);
    nl_addr* local = parsed(text);
    rtnl_addr_set_local(address, local);
    nl_addr_put(local);
    if (label != nullptr) rtnl_addr_set_label(address, label);
    if (valid != 0) {
      rtnl_addr_set_valid_lifetime(address, valid);
      rtnl_addr_set_preferred_lifetime(address, valid / 2);
    }
    EXPECT_EQ(rtnl_addr_add(socket.get(), address, 0), 0) << text;
    rtnl_addr_put(address);
  }
  void add_route(int index, const char* to, const char* via, unsigned table, unsigned metric) {
    rtnl_route* route = rtnl_route_alloc();
    nl_addr* destination = parsed(to);
    rtnl_route_set_dst(route, destination);
    rtnl_route_set_table(route, table);
    rtnl_route_set_priority(route, metric);
    rtnl_route_set_protocol(route, 4);  // static
    rtnl_route_set_scope(route, via != nullptr ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
    rtnl_nexthop* hop = rtnl_route_nh_alloc();
    rtnl_route_nh_set_ifindex(hop, index);
    if (via != nullptr) {
      nl_addr* gateway = parsed(via);
      rtnl_route_nh_set_gateway(hop, gateway);
      nl_addr_put(gateway);
    }
    rtnl_route_add_nexthop(route, hop);
    EXPECT_EQ(rtnl_route_add(socket.get(), route, NLM_F_CREATE), 0) << to;
    nl_addr_put(destination);
    rtnl_route_put(route);
  }
  void add_neighbour(int index, const char* to) {
    rtnl_neigh* neighbour = rtnl_neigh_alloc();
    nl_addr* destination = parsed(to);
    nl_addr* address = parsed("02:00:00:00:00:99");
    rtnl_neigh_set_ifindex(neighbour, index);
    rtnl_neigh_set_dst(neighbour, destination);
    rtnl_neigh_set_lladdr(neighbour, address);
    rtnl_neigh_set_state(neighbour, NUD_PERMANENT);
    EXPECT_EQ(rtnl_neigh_add(socket.get(), neighbour, NLM_F_CREATE), 0) << to;
    nl_addr_put(destination);
    nl_addr_put(address);
    rtnl_neigh_put(neighbour);
  }
  bool add_vlan(int parent, const std::string& name) {
    rtnl_link* vlan = rtnl_link_vlan_alloc();
    rtnl_link_set_name(vlan, name.c_str());
    rtnl_link_set_link(vlan, parent);
    rtnl_link_vlan_set_id(vlan, 5);
    const int error = rtnl_link_add(socket.get(), vlan, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_put(vlan);
    if (error < 0) return false;
    configure(name, [](rtnl_link*) {});
    return true;
  }
  void dress(int index) {
    add_address(index, "10.9.0.5/24", "nic0:x");
    add_address(index, "10.9.0.6/24");
    add_address(index, "192.0.2.1/32", nullptr, 4000);
    add_address(index, "fd00:9::5/64");
    add_route(index, "198.51.100.0/24", nullptr, 254, 0);
    add_route(index, "203.0.113.0/24", "198.51.100.7", 254, 50);  // reached by the one before
    add_route(index, "0.0.0.0/0", "10.9.0.1", 77, 10);
    add_route(index, "2001:db8::/32", "fd00:9::1", 254, 100);
    add_neighbour(index, "10.9.0.77");
    add_neighbour(index, "fd00:9::77");
  }

  static std::vector<std::string> texts(const std::vector<CapturedItem>& items) {
    // The kernel makes the link-local address itself, when it finds the link ready: before or after we look.
    std::vector<std::string> out;
    for (const auto& item : items) {
      if (!item.text.starts_with("fe80:")) out.push_back(item.text);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::unique_ptr<Rtnetlink> network;
  std::unique_ptr<nl_sock, decltype(&nl_socket_free)> socket{nullptr, &nl_socket_free};
};

}  // namespace rdmove::agent::test
