// Messages of the kernel's RDMA netlink, taken apart. No I/O.
#pragma once

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

struct nlattr;

namespace rdmove::agent {

using RdmaAttributes = std::array<nlattr*, RDMA_NLDEV_ATTR_MAX>;

/// By their number; null: not there.
RdmaAttributes attributes_of(const nlmsghdr& message);
std::string text_of(nlattr* attribute);  ///< empty if it is not there

/// A port's hardware counters (what `rdma statistic` shows), from the answer to RDMA_NLDEV_CMD_STAT_GET:
/// added to `out` where they are not in it yet.
void read_statistics(const nlmsghdr& answer, std::map<std::string, std::uint64_t>& out);

}  // namespace rdmove::agent
