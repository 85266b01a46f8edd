// Policy rules (ip rule) that name an interface: reading them and saying them again. The kernel keeps a rule
// when its interface leaves and matches it by name again, so a rule is put back only if somebody took it away
// meanwhile or the name is another one. Internal to Rtnetlink. Pure functions.
#pragma once

#include <linux/netlink.h>

#include <optional>
#include <string>

#include "guestagent/agent/network_state.hpp"

namespace rdmove::agent::replay {

/// The item, if the dump's message is a rule whose incoming or outgoing interface is `netdev`.
std::optional<CapturedItem> rule(const nlmsghdr& message, const std::string& netdev);

/// The same rule for the interface that is now called `now`, ready to be sent.
Bytes rule_for(const Bytes& message, const std::string& was, const std::string& now);

}  // namespace rdmove::agent::replay
