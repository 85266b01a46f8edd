#include "guestagent/agent/rdma_netlink.hpp"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <set>

#include "guestagent/agent/anchor.hpp"
#include "guestagent/agent/child_task.hpp"
#include "guestagent/agent/rdma_message.hpp"
#include "guestagent/agent/remote_end.hpp"
#include "guestagent/agent/traffic.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {
namespace {

using protocol::ErrorCode;

constexpr int command(int nldev) {
  return (RDMA_NL_NLDEV << 10) + nldev;
}

struct Listed {
  std::uint32_t index = 0;
  RdmaDevice device;
};

std::vector<Listed> list_devices(NetlinkSocket& socket) {
  std::vector<Listed> out;
  socket.dump(command(RDMA_NLDEV_CMD_GET), {}, [&](const nlmsghdr& message) {
    const auto attributes = attributes_of(message);
    if (attributes[RDMA_NLDEV_ATTR_DEV_INDEX] == nullptr) return;
    out.push_back({nla_get_u32(attributes[RDMA_NLDEV_ATTR_DEV_INDEX]),
                   {text_of(attributes[RDMA_NLDEV_ATTR_DEV_NAME]), {}}});
  });
  return out;
}

/// The attribute that a dump about one device begins with.
Bytes of_device(std::uint32_t index) {
  Bytes request(NLA_HDRLEN + sizeof index);
  const nlattr head{NLA_HDRLEN + sizeof index, RDMA_NLDEV_ATTR_DEV_INDEX};
  std::memcpy(request.data(), &head, sizeof head);
  std::memcpy(request.data() + NLA_HDRLEN, &index, sizeof index);
  return request;
}

/// Adds what `rdma resource show cm_id` calls dst-addr.
void add_remote_addresses(NetlinkSocket& socket, std::uint32_t device, std::set<std::string>& out) {
  // A kernel that knows no such dump answers with an error: then there are none.
  socket.dump(command(RDMA_NLDEV_CMD_RES_CM_ID_GET), of_device(device), [&](const nlmsghdr& message) {
    auto* table = attributes_of(message)[RDMA_NLDEV_ATTR_RES_CM_ID];
    if (table == nullptr) return;
    auto* entry = static_cast<nlattr*>(nla_data(table));
    for (int left = nla_len(table); nla_ok(entry, left); entry = nla_next(entry, &left)) {
      const auto* address =
          nla_find(static_cast<nlattr*>(nla_data(entry)), nla_len(entry), RDMA_NLDEV_ATTR_RES_DST_ADDR);
      if (address == nullptr || out.size() >= protocol::limits::peers) continue;
      if (auto text = remote_address(nla_data(address), static_cast<std::size_t>(nla_len(address))))
        out.insert(std::move(*text));
    }
  });
}

std::vector<Listed> list_with_netdevs(NetlinkSocket& socket) {
  auto out = list_devices(socket);
  for (auto& listed : out) {
    socket.dump(command(RDMA_NLDEV_CMD_PORT_GET), of_device(listed.index), [&](const nlmsghdr& message) {
      const auto attributes = attributes_of(message);
      const auto* port = attributes[RDMA_NLDEV_ATTR_PORT_INDEX];
      if (port != nullptr && nla_get_u32(port) == 1)
        listed.device.netdev = text_of(attributes[RDMA_NLDEV_ATTR_NDEV_NAME]);
    });
  }
  return out;
}

/// Added to `out` where sysfs has not told them.
void add_statistics(NetlinkSocket& socket, std::uint32_t device, std::uint32_t port,
                    std::map<std::string, std::uint64_t>& out) {
  nl_msg* message = nlmsg_alloc_simple(command(RDMA_NLDEV_CMD_STAT_GET), 0);
  nla_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, device);
  nla_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, port);
  // A driver without any answers EOPNOTSUPP or EINVAL: then there are none.
  socket.get(message, [&](const nlmsghdr& answer) { read_statistics(answer, out); });
}

// Runs in a child: the kernel answers only when nobody holds the device any more.
int delete_link(const std::string& name) {
  NetlinkSocket socket(NETLINK_RDMA);
  for (const auto& listed : list_devices(socket)) {
    if (listed.device.name != name) continue;
    nl_msg* message = nlmsg_alloc_simple(command(RDMA_NLDEV_CMD_DELLINK), 0);
    nla_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, listed.index);
    return socket.send(message);
  }
  return 0;  // gone already
}

std::string explain(int error) {
  if (error == EOPNOTSUPP || error == EINVAL || error == ENOENT) {
    return fmt::format("{}; are the modules rdma_rxe and crc32_generic loaded?", std::strerror(error));
  }
  return std::strerror(error);
}

}  // namespace

NetlinkSocket* RdmaNetlink::socket() {
  try {
    if (!socket_) socket_ = std::make_unique<NetlinkSocket>(NETLINK_RDMA);
  } catch (const std::runtime_error& error) {
    spdlog::debug("no RDMA in this kernel: {}", error.what());
  }
  return socket_.get();
}

std::vector<RdmaDevice> RdmaNetlink::list() {
  std::vector<RdmaDevice> out;
  auto* netlink = socket();
  if (netlink == nullptr) return out;
  for (auto& listed : list_with_netdevs(*netlink)) {
    // Of an InfiniBand port the kernel names no interface: IPoIB stands on it, it is not its own.
    if (listed.device.netdev.empty()) listed.device.netdev = sysfs_.ipoib_netdev(listed.device.name);
    out.push_back(std::move(listed.device));
  }
  return out;
}

std::vector<protocol::DeviceCounters> RdmaNetlink::counters() {
  std::vector<protocol::DeviceCounters> out;
  auto* netlink = socket();
  if (netlink == nullptr) return out;
  for (const auto& listed : list_with_netdevs(*netlink)) {
    const auto& device = listed.device;
    if (is_anchor(device.name)) continue;
    for (const auto port : sysfs_.ports(device.name)) {
      if (out.size() >= protocol::limits::devices) return out;
      auto counters = sysfs_.counters(device.name, port, port == 1 ? device.netdev : "");
      add_statistics(*netlink, listed.index, port, counters);
      auto traffic = traffic_of(counters);
      out.push_back({device.name, port, std::move(counters), std::move(traffic)});
    }
  }
  return out;
}

std::vector<std::string> RdmaNetlink::remote_addresses() {
  std::set<std::string> out;
  if (auto* netlink = socket()) {
    for (const auto& listed : list_devices(*netlink)) {
      if (!is_anchor(listed.device.name)) add_remote_addresses(*netlink, listed.index, out);
    }
  }
  return {out.begin(), out.end()};
}

protocol::Result<void> RdmaNetlink::add_soft_roce(const std::string& name, const std::string& netdev) {
  auto* netlink = socket();
  int error = EPROTONOSUPPORT;
  if (netlink != nullptr) {
    nl_msg* message = nlmsg_alloc_simple(command(RDMA_NLDEV_CMD_NEWLINK), 0);
    nla_put_string(message, RDMA_NLDEV_ATTR_DEV_NAME, name.c_str());
    nla_put_string(message, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
    nla_put_string(message, RDMA_NLDEV_ATTR_NDEV_NAME, netdev.c_str());
    error = netlink->send(message);
  }
  if (error == 0) return {};
  return protocol::fail(ErrorCode::InternalError, fmt::format("cannot make soft-RoCE device {} on {}: {}",
                                                              name, netdev, explain(error)));
}

void RdmaNetlink::remove(const std::string& name, Done done) {
  const auto shared = std::make_shared<Done>(std::move(done));
  auto started = run_in_child(
      io_, [name] { return delete_link(name); },
      [shared, name](int error) {
        if (error == 0) return (*shared)({});
        (*shared)(protocol::fail(ErrorCode::InternalError,
                                 fmt::format("cannot delete {}: {}", name, std::strerror(error))));
      });
  if (!started) boost::asio::post(io_, [shared, started] { (*shared)(started); });
}

}  // namespace rdmove::agent
