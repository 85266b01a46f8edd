// A VF's settings in rtnetlink messages. Internal to the netlink port, and tested byte for byte.
#pragma once

#include <netlink/msg.h>
#include <netlink/route/link.h>

#include <memory>

#include "coordinator/base/result.hpp"
#include "coordinator/fabric/identity/vf_port.hpp"

namespace rdmove::fabric {

struct FreeNetlink {
  void operator()(nl_msg* it) const { nlmsg_free(it); }
  void operator()(rtnl_link* it) const { rtnl_link_put(it); }
};
template <class T>
using NetlinkOwned = std::unique_ptr<T, FreeNetlink>;

/// The VFs of an RTM_NEWLINK that was asked for with RTEXT_FILTER_VF (net/core/rtnetlink.c,
/// rtnl_fill_vfinfo), by number. What the driver does not tell (setting -1; GUIDs before Linux 5.5) is
/// absent.
Result<std::vector<VfSettings>> vfsOf(nl_msg* answer);

/// A link of which only this VF's field is set, for rtnl_link_change(). Null when there is no memory.
NetlinkOwned<rtnl_link> changeOf(unsigned index, Field field, const VfSettings& values);

}  // namespace rdmove::fabric
