#include <fmt/format.h>
#include <net/if.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "coordinator/fabric/identity/vf_message.hpp"

namespace rdmove::fabric {
namespace {

struct FreeSocket {
  void operator()(nl_sock* it) const { nl_socket_free(it); }
};
using Socket = std::unique_ptr<nl_sock, FreeSocket>;

struct Answer {
  std::optional<Result<std::vector<VfSettings>>> vfs;
};

int takeAnswer(nl_msg* message, void* into) {
  static_cast<Answer*>(into)->vfs = vfsOf(message);
  return NL_OK;
}

/// libnl folds several errnos into one code; these are the ones that a PF's driver answers with.
tl::unexpected<Error> refused(const std::string& attempted, int error) {
  const int code = error < 0 ? -error : error;
  const ErrorCode kind = code == NLE_OBJ_NOTFOUND || code == NLE_NODEV ? ErrorCode::kNotFound
                         : code == NLE_OPNOTSUPP                       ? ErrorCode::kIncompatible
                         : code == NLE_INVAL || code == NLE_RANGE      ? ErrorCode::kRefused
                         : code == NLE_BUSY                            ? ErrorCode::kConflict
                                                                       : ErrorCode::kUnavailable;
  return failure(kind, attempted, fmt::format("netlink: {}", nl_geterror(error)),
                 code == NLE_PERM ? "rdmoved needs CAP_NET_ADMIN." : "");
}

class NetlinkVfPort : public VfPort {
 public:
  Result<VfSettings> read(const VfPlace& vf) override {
    auto all = readAll(vf.pf);
    if (!all) return tl::unexpected<Error>(all.error());
    if (vf.index < all->size()) return std::move((*all)[vf.index]);
    return failure(ErrorCode::kNotFound, fmt::format("read VF {} of {}", vf.index, vf.pf.netdev),
                   "the PF has no such VF");
  }

  Result<std::vector<VfSettings>> readAll(const PfPlace& pf) override {
    const std::string attempted = fmt::format("read the VFs of {}", pf.netdev);
    if (pf.netdev.empty()) return noNetdev(attempted);
    const auto socket = connect(attempted);
    if (!socket) return tl::unexpected<Error>(socket.error());
    nl_msg* made = nullptr;
    if (const int error = rtnl_link_build_get_request(0, pf.netdev.c_str(), &made); error < 0)
      return refused(attempted, error);
    const NetlinkOwned<nl_msg> request(made);
    Answer answer;
    nl_socket_modify_cb(socket->get(), NL_CB_VALID, NL_CB_CUSTOM, &takeAnswer, &answer);
    if (const int error = nl_send_auto(socket->get(), request.get()); error < 0)
      return refused(attempted, error);
    if (const int error = nl_recvmsgs_default(socket->get()); error < 0) return refused(attempted, error);
    if (!answer.vfs) return failure(ErrorCode::kUnavailable, attempted, "the kernel did not answer");
    return std::move(*answer.vfs);
  }

  std::set<Field> settable(const VfPlace& vf) override {
    if (vf.pf.layer != LinkLayer::kInfiniBand)
      return {Field::kMac, Field::kVlan, Field::kTrust, Field::kSpoofCheck, Field::kRates, Field::kLink};
    return {Field::kNodeGuid, Field::kPortGuid, Field::kLink};
  }

  Result<void> write(const VfPlace& vf, Field field, const VfSettings& values) override {
    const std::string attempted =
        fmt::format("set {} on VF {} of {}", show(field, values), vf.index, vf.pf.netdev);
    if (vf.pf.netdev.empty()) return noNetdev(attempted);
    const auto socket = connect(attempted);
    if (!socket) return tl::unexpected<Error>(socket.error());
    const NetlinkOwned<rtnl_link> change = changeOf(vf.index, field, values);
    const NetlinkOwned<rtnl_link> which(rtnl_link_alloc());
    if (!change || !which) return failure(ErrorCode::kInternal, attempted, "it is no message of rtnetlink");
    const unsigned interface = if_nametoindex(vf.pf.netdev.c_str());
    if (interface == 0) return failure(ErrorCode::kNotFound, attempted, "there is no such network interface");
    rtnl_link_set_ifindex(which.get(), static_cast<int>(interface));
    if (const int error = rtnl_link_change(socket->get(), which.get(), change.get(), 0); error < 0)
      return refused(attempted, error);
    return {};
  }

  VfSettings nobody(const VfPlace& vf, const VfSettings&) override {
    VfSettings out;
    if (vf.pf.layer == LinkLayer::kInfiniBand) {
      out.node_guid = out.port_guid = Guid();
    } else {
      out.mac = MacAddress{};
      out.vlan = VlanTag{};
      out.trust = false;  // as drivers begin; with spoof checking they differ
      out.rates = Rates{};
    }
    return out;
  }
  std::string whereToLook(const VfPlace& vf) override { return "ip link show " + vf.pf.netdev; }

 private:
  static tl::unexpected<Error> noNetdev(const std::string& attempted) {
    return failure(ErrorCode::kNotFound, attempted, "the PF has no network interface",
                   "Load its driver (for InfiniBand, ib_ipoib as well), and see dmesg.");
  }

  static Result<Socket> connect(const std::string& attempted) {
    Socket socket(nl_socket_alloc());
    if (!socket) return failure(ErrorCode::kInternal, attempted, "out of memory");
    if (const int error = nl_connect(socket.get(), NETLINK_ROUTE); error < 0)
      return refused(attempted, error);
    return socket;
  }
};

}  // namespace

std::unique_ptr<VfPort> makeNetlinkVfPort() {
  return std::make_unique<NetlinkVfPort>();
}

}  // namespace rdmove::fabric
