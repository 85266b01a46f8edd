#include "coordinator/fabric/inventory/rdma_devices.hpp"

#include <fmt/format.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include "coordinator/fabric/identity/vf_message.hpp"
#include "coordinator/fabric/inventory/rdma_message.hpp"

namespace rdmove::fabric {
namespace {

constexpr int kGetDevices = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
constexpr std::size_t kMostDevices = 1024;

struct FreeSocket {
  void operator()(nl_sock* it) const { nl_socket_free(it); }
};

int take(nl_msg* message, void* into) {
  auto& devices = *static_cast<std::vector<RdmaDevice>*>(into);
  auto device = rdmaDeviceOf(message);
  if (device && devices.size() < kMostDevices) devices.push_back(std::move(*device));
  return NL_OK;
}

class NetlinkDevices : public RdmaDevices {
 public:
  Result<std::vector<RdmaDevice>> list() override {
    std::vector<RdmaDevice> devices;
    const std::unique_ptr<nl_sock, FreeSocket> socket(nl_socket_alloc());
    if (!socket) return failed(-NLE_NOMEM);
    // ib_core registers the protocol: without it there is no RDMA on this host.
    if (nl_connect(socket.get(), NETLINK_RDMA) < 0) return devices;
    const NetlinkOwned<nl_msg> request(nlmsg_alloc_simple(kGetDevices, NLM_F_DUMP));
    if (!request) return failed(-NLE_NOMEM);
    nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, &take, &devices);
    if (const int error = nl_send_auto(socket.get(), request.get()); error < 0) return failed(error);
    if (const int error = nl_recvmsgs_default(socket.get()); error < 0) return failed(error);
    return devices;
  }

 private:
  static tl::unexpected<Error> failed(int error) {
    return failure(ErrorCode::kUnavailable, "list the RDMA devices",
                   fmt::format("rdma netlink: {}", nl_geterror(error)));
  }
};

}  // namespace

std::optional<RdmaDevice> rdmaDeviceOf(nl_msg* answer) {
  nlmsghdr* header = nlmsg_hdr(answer);
  if (header->nlmsg_type != kGetDevices) return std::nullopt;
  RdmaDevice device;
  if (nlattr* name = nlmsg_find_attr(header, 0, RDMA_NLDEV_ATTR_DEV_NAME)) device.name = nla_get_string(name);
  if (nlattr* firmware = nlmsg_find_attr(header, 0, RDMA_NLDEV_ATTR_FW_VERSION))
    device.firmware = nla_get_string(firmware);
  nlattr* guid = nlmsg_find_attr(header, 0, RDMA_NLDEV_ATTR_NODE_GUID);
  if (guid != nullptr && nla_len(guid) == 8) device.node_guid = Guid(nla_get_u64(guid));
  nlattr* ports = nlmsg_find_attr(header, 0, RDMA_NLDEV_ATTR_PORT_INDEX);
  if (ports != nullptr && nla_len(ports) == 4) device.ports = nla_get_u32(ports);
  if (device.name.empty()) return std::nullopt;
  return device;
}

std::unique_ptr<RdmaDevices> makeRdmaDevices() {
  return std::make_unique<NetlinkDevices>();
}

}  // namespace rdmove::fabric
