#include "coordinator/fabric/inventory/dcb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <array>
#include <cstring>
#include <vector>

#include "coordinator/fabric/identity/vf_message.hpp"

namespace rdmove::fabric {
namespace {

struct FreeSocket {
  void operator()(nl_sock* it) const { nl_socket_free(it); }
};

template <class T>
std::optional<T> valueOf(nlattr* attribute) {
  if (attribute == nullptr || nla_len(attribute) < static_cast<int>(sizeof(T))) return std::nullopt;
  T value;
  std::memcpy(&value, nla_data(attribute), sizeof value);
  return value;
}

std::string prioritiesIn(unsigned bits) {
  std::vector<int> all;
  for (int priority = 0; priority < IEEE_8021QAZ_MAX_TCS; ++priority) {
    if ((bits >> priority & 1U) != 0) all.push_back(priority);
  }
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ","));
}

std::string shareOf(const ieee_ets& ets, int traffic_class) {
  switch (ets.tc_tsa[traffic_class]) {
    case IEEE_8021QAZ_TSA_STRICT:
      return "strict";
    case IEEE_8021QAZ_TSA_CB_SHAPER:
      return "credit-based shaper";
    case IEEE_8021QAZ_TSA_ETS:
      return fmt::format("ets {} %", ets.tc_tx_bw[traffic_class]);
    default:
      return "vendor's own";
  }
}

/// Of the traffic classes that have a priority.
std::string textOf(const ieee_ets& ets) {
  std::array<unsigned, IEEE_8021QAZ_MAX_TCS> priorities{};
  for (unsigned priority = 0; priority < IEEE_8021QAZ_MAX_TCS; ++priority)
    priorities.at(ets.prio_tc[priority] % IEEE_8021QAZ_MAX_TCS) |= 1U << priority;
  std::vector<std::string> all;
  for (int one = 0; one < IEEE_8021QAZ_MAX_TCS; ++one) {
    if (priorities[one] != 0)
      all.push_back(fmt::format("class {} ({}): {}", one, prioritiesIn(priorities[one]), shareOf(ets, one)));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

int take(nl_msg* answer, void* into) {
  *static_cast<std::optional<Dcb>*>(into) = dcbOf(answer);
  return NL_OK;
}

class NetlinkDcb : public DcbPorts {
 public:
  std::optional<Dcb> of(const std::string& netdev) override {
    std::optional<Dcb> found;
    const std::unique_ptr<nl_sock, FreeSocket> socket(nl_socket_alloc());
    const NetlinkOwned<nl_msg> request(nlmsg_alloc_simple(RTM_GETDCB, 0));
    if (!socket || !request || nl_connect(socket.get(), NETLINK_ROUTE) < 0) return found;
    dcbmsg header{};
    header.cmd = DCB_CMD_IEEE_GET;
    if (nlmsg_append(request.get(), &header, sizeof header, NLMSG_ALIGNTO) < 0 ||
        nla_put_string(request.get(), DCB_ATTR_IFNAME, netdev.c_str()) < 0)
      return found;
    nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, &take, &found);
    // EOPNOTSUPP, which most drivers answer, comes as an error of the receiving.
    if (nl_send_auto(socket.get(), request.get()) >= 0) nl_recvmsgs_default(socket.get());
    return found;
  }
};

}  // namespace

std::optional<Dcb> dcbOf(nl_msg* answer) {
  nlmsghdr* header = nlmsg_hdr(answer);
  if (header->nlmsg_type != RTM_GETDCB) return std::nullopt;
  nlattr* all = nlmsg_find_attr(header, sizeof(dcbmsg), DCB_ATTR_IEEE);
  std::array<nlattr*, DCB_ATTR_IEEE_MAX + 1> parts{};
  if (all == nullptr || nla_parse_nested(parts.data(), DCB_ATTR_IEEE_MAX, all, nullptr) < 0) return std::nullopt;
  const auto pfc = valueOf<ieee_pfc>(parts[DCB_ATTR_IEEE_PFC]);
  if (!pfc) return std::nullopt;
  const auto ets = valueOf<ieee_ets>(parts[DCB_ATTR_IEEE_ETS]);
  return Dcb{prioritiesIn(pfc->pfc_en), ets ? textOf(*ets) : std::string()};
}

std::unique_ptr<DcbPorts> makeDcbPorts() { return std::make_unique<NetlinkDcb>(); }

}  // namespace rdmove::fabric
