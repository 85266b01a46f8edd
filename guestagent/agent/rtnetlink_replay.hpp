// Reading what the kernel says about addresses, routes and neighbours, and saying it again for another
// interface index. Messages are payloads without nlmsghdr. Internal to Rtnetlink. Pure functions; what the
// kernel makes of them is tested by the namespace test.
#pragma once

#include <linux/netlink.h>

#include <optional>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent::replay {

/// Each takes a dump's message and gives the item, if it is one that is kept for the link `index`.
std::optional<CapturedItem> address(const nlmsghdr& message, int index);
std::optional<CapturedItem> route(const nlmsghdr& message, int index);
std::optional<CapturedItem> neighbour(const nlmsghdr& message, int index);

/// The same for the link that is now `index`, ready to be sent.
Bytes address_for(const Bytes& message, int index);
Bytes route_for(const Bytes& message, int old_index, int index);
Bytes neighbour_for(const Bytes& message, int index);

bool is_learnt(const Bytes& neighbour);  // not permanent
bool is_multipath(const Bytes& route);

}  // namespace rdmove::agent::replay
