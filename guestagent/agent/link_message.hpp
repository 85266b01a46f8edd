// Links as rtnetlink tells them, and the requests about links that libnl-route 3.7 cannot build: IPoIB,
// alternative names, and a VLAN's priorities (which it numbers in a way that kernels since 6.8 leave out). Internal to Rtnetlink and LinkMonitor. Pure functions.
#pragma once

#include <linux/netlink.h>

#include <optional>
#include <string>

#include "guestagent/agent/network_state.hpp"

struct nl_msg;

namespace rdmove::agent::link_message {

/// What follows the header of a RTM_GETLINK dump: without statistics, which are most of an answer.
Bytes dump_request();

/// None if it is no RTM_NEWLINK, or one that is cut short.
std::optional<LinkInfo> parse(const nlmsghdr& message);

/// Each is a request for NetlinkSocket::send.
nl_msg* vlan_priorities(int index, const VlanTag& tag);
nl_msg* new_ipoib_child(int parent, const std::string& name, std::uint16_t pkey);
nl_msg* ipoib_settings(int index, const IpoibSettings& settings);
nl_msg* add_alternative_name(int index, const std::string& name);
nl_msg* delete_alternative_name(int index, const std::string& name);

}  // namespace rdmove::agent::link_message
