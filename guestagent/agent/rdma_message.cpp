#include "guestagent/agent/rdma_message.hpp"

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {

// Not nlmsg_parse: its table is indexed by the newest attribute that this header knows, and newer kernels
// send more.
RdmaAttributes attributes_of(const nlmsghdr& message) {
  RdmaAttributes out{};
  auto* at = nlmsg_attrdata(&message, 0);
  for (int left = nlmsg_attrlen(&message, 0); nla_ok(at, left); at = nla_next(at, &left)) {
    if (static_cast<std::size_t>(nla_type(at)) < out.size()) out[static_cast<std::size_t>(nla_type(at))] = at;
  }
  return out;
}

std::string text_of(nlattr* attribute) {
  return attribute == nullptr ? std::string{} : nla_get_string(attribute);
}

void read_statistics(const nlmsghdr& answer, std::map<std::string, std::uint64_t>& out) {
  auto* table = attributes_of(answer)[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS];
  if (table == nullptr) return;
  auto* entry = static_cast<nlattr*>(nla_data(table));
  for (int left = nla_len(table); nla_ok(entry, left); entry = nla_next(entry, &left)) {
    auto* name = nla_find(static_cast<nlattr*>(nla_data(entry)), nla_len(entry),
                          RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
    auto* value = nla_find(static_cast<nlattr*>(nla_data(entry)), nla_len(entry),
                           RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
    if (name == nullptr || value == nullptr || out.size() >= protocol::limits::counters) continue;
    out.emplace(text_of(name), nla_get_u64(value));
  }
}

}  // namespace rdmove::agent
