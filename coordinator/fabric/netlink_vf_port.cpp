#include <fmt/format.h>
#include <netlink/addr.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/sriov.h>
#include <netlink/socket.h>
#include <sys/socket.h>

#include <array>

#include "coordinator/fabric/vf_port.hpp"

namespace rdmove::fabric {
namespace {

struct Free {
  void operator()(nl_sock* it) const { nl_socket_free(it); }
  void operator()(rtnl_link* it) const { rtnl_link_put(it); }
  void operator()(rtnl_link_vf* it) const { rtnl_link_vf_put(it); }
  void operator()(nl_addr* it) const { nl_addr_put(it); }
  void operator()(nl_vf_vlans_t* it) const { rtnl_link_vf_vlan_put(it); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// A socket and the PF's link, as one request needs them.
struct Pf {
  Owned<nl_sock> socket;
  Owned<rtnl_link> link;
};

class NetlinkVfPort : public VfPort {
 public:
  Result<VfState> read(const std::string& pf_netdev, unsigned index) override {
    const std::string attempted = fmt::format("read VF {} of {}", index, pf_netdev);
    auto pf = openPf(pf_netdev, attempted);
    if (!pf) return tl::unexpected<Error>(pf.error());
    // libnl walks the list without asking whether there is one.
    const Owned<rtnl_link_vf> vf(
        rtnl_link_has_vf_list(pf->link.get()) ? rtnl_link_vf_get(pf->link.get(), index) : nullptr);
    if (!vf) return failure(ErrorCode::kNotFound, attempted, "the PF has no such VF");
    VfState state;
    nl_addr* address = nullptr;
    if (rtnl_link_vf_get_addr(vf.get(), &address) == 0 && nl_addr_get_len(address) == 6) {
      const auto* bytes = static_cast<const unsigned char*>(nl_addr_get_binary_addr(address));
      state.mac = MacAddress::parse(fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", bytes[0],
                                                bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]));
    }
    nl_vf_vlans_t* vlans = nullptr;
    if (rtnl_link_vf_get_vlans(vf.get(), &vlans) == 0) {
      const Owned<nl_vf_vlans_t> held(vlans);  // the getter took a reference for us
      if (held->size > 0) state.vlan = static_cast<int>(held->vlans[0].vf_vlan);
    }
    return state;
  }

  Result<void> clear(const std::string& pf_netdev, unsigned index) override {
    const std::string attempted = fmt::format("take MAC and VLAN off VF {} of {}", index, pf_netdev);
    auto pf = openPf(pf_netdev, attempted);
    if (!pf) return tl::unexpected<Error>(pf.error());
    const std::array<unsigned char, 6> zero{};
    const Owned<rtnl_link> change(rtnl_link_alloc());
    const Owned<rtnl_link_vf> vf(rtnl_link_vf_alloc());
    const Owned<nl_addr> none(nl_addr_build(AF_LLC, zero.data(), zero.size()));
    nl_vf_vlans_t* vlans = nullptr;
    if (!change || !vf || !none || rtnl_link_vf_vlan_alloc(&vlans, 1) < 0) {
      return failure(ErrorCode::kInternal, attempted, "out of memory");
    }
    const Owned<nl_vf_vlans_t> no_vlan(vlans);
    vlans->vlans[0] = {};
    rtnl_link_vf_set_index(vf.get(), index);
    rtnl_link_vf_set_addr(vf.get(), none.get());
    rtnl_link_vf_set_vlans(vf.get(), vlans);
    rtnl_link_vf_add(change.get(), vf.get());
    if (const int error = rtnl_link_change(pf->socket.get(), pf->link.get(), change.get(), 0); error < 0) {
      return refused(attempted, error);
    }
    return {};
  }

 private:
  static tl::unexpected<Error> refused(const std::string& attempted, int error) {
    return failure(
        error == -NLE_OBJ_NOTFOUND || error == -NLE_NODEV ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
        attempted, fmt::format("netlink: {}", nl_geterror(error)),
        error == -NLE_PERM ? "rdmoved needs CAP_NET_ADMIN." : "");
  }

  static Result<Pf> openPf(const std::string& netdev, const std::string& attempted) {
    Pf pf{Owned<nl_sock>(nl_socket_alloc()), {}};
    if (!pf.socket) return failure(ErrorCode::kInternal, attempted, "out of memory");
    if (const int error = nl_connect(pf.socket.get(), NETLINK_ROUTE); error < 0)
      return refused(attempted, error);
    rtnl_link* link = nullptr;
    if (const int error = rtnl_link_get_kernel(pf.socket.get(), 0, netdev.c_str(), &link); error < 0) {
      return refused(attempted, error);
    }
    pf.link.reset(link);
    return pf;
  }
};

}  // namespace

std::unique_ptr<VfPort> makeNetlinkVfPort() {
  return std::make_unique<NetlinkVfPort>();
}

}  // namespace rdmove::fabric
