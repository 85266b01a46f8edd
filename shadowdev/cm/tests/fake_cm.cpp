#include "shadowdev/cm/tests/fake_cm.hpp"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rdmove::shadow::fake {
namespace {

constexpr int kStale = 10;
constexpr int kNoListener = 8;

}  // namespace

sockaddr_in FakeCm::address(unsigned node, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(0x0A4D0001U + node);  // 10.77.0.1 and so on
  return address;
}

FakeId* FakeCm::known(rdma_cm_id* id, bool in_kernel) {
  const auto found = std::find_if(ids_.begin(), ids_.end(), [&](const auto& one) { return one.get() == id; });
  EXPECT_NE(found, ids_.end()) << "librdmacm is handed an id that is not its own, or was destroyed";
  if (found == ids_.end()) std::abort();
  errno = ENXIO;
  return !in_kernel || (*found)->in_kernel ? found->get() : nullptr;
}

void FakeCm::post(FakeId& id, rdma_cm_event_type type, int status, const rdma_conn_param* with,
                  FakeId* child) {
  auto event = std::make_unique<FakeCmEvent>();
  event->event = type;
  event->status = status;
  event->counted = &id;
  event->id = child == nullptr ? &id : child;
  event->listen_id = child == nullptr ? nullptr : &id;
  if (with != nullptr) event->param.conn = *with;
  if (with != nullptr && with->private_data_len != 0) {
    std::memcpy(event->data.data(), with->private_data, with->private_data_len);
    event->param.conn.private_data = event->data.data();
  }
  auto& channel = *static_cast<FakeChannel*>(id.channel);
  channel.events.push_back(std::move(event));
  eventfd_write(channel.fd, 1);
}

FakeChannel* FakeCm::create_channel(unsigned node) {
  auto* channel = new FakeChannel();
  channel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  channel->node = node;
  channels_.insert(channel);
  return channel;
}

void FakeCm::destroy_channel(rdma_event_channel* channel) {
  for (const auto& id : ids_) EXPECT_NE(id->channel, channel) << "an id is left on this channel";
  EXPECT_EQ(channels_.erase(channel), 1U);
  ::close(channel->fd);
  delete static_cast<FakeChannel*>(channel);
}

int FakeCm::create_id(unsigned node, rdma_event_channel* channel, rdma_cm_id** out, void* context) {
  auto id = std::make_unique<FakeId>();
  id->node = node;
  id->synchronous = channel == nullptr;
  id->channel = channel == nullptr ? create_channel(node) : channel;
  id->context = context;
  id->qp_type = IBV_QPT_RC;
  id->ps = RDMA_PS_TCP;
  *out = id.get();
  ids_.push_back(std::move(id));
  return 0;
}

/// As a DREQ that comes to the other end.
void FakeCm::end(FakeId& id) {
  if (id.other != nullptr) {
    if (id.other->in_kernel)
      post(*id.other, id.asks || id.other->asks ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_DISCONNECTED);
    id.other->connected = id.other->asks = false;
    id.other->other = nullptr;
  }
  id.other = nullptr;
  id.connected = id.asks = false;
}

int FakeCm::destroy_id(rdma_cm_id* given) {
  FakeId* id = known(given, false);
  EXPECT_EQ(id->owed, 0U) << "librdmacm would wait for ever for an acknowledgement";
  if (id->in_kernel) end(*id);
  auto& channel = *static_cast<FakeChannel*>(id->channel);
  const auto before = channel.events.size();
  std::vector<rdma_cm_id*> children;
  for (const auto& event : channel.events)
    if (event->counted == id && event->id != id) children.push_back(event->id);
  std::erase_if(channel.events, [&](const auto& event) { return event->counted == id; });
  eventfd_t value = 0;
  for (auto i = channel.events.size(); i < before; ++i) static_cast<void>(eventfd_read(channel.fd, &value));
  const bool owns = id->synchronous;
  std::erase_if(ids_, [&](const auto& one) { return one.get() == id; });
  if (owns) destroy_channel(&channel);
  for (rdma_cm_id* child : children) destroy_id(child);
  return 0;
}

void FakeCm::take_device(FakeId& id) {
  id.verbs = nodes[id.node].context;
  id.pd = nodes[id.node].pd;
  id.port_num = 1;
}

int FakeCm::bind_addr(rdma_cm_id* given, sockaddr* address) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  const auto& wanted = *reinterpret_cast<const sockaddr_in*>(address);
  errno = EADDRNOTAVAIL;
  if (wanted.sin_addr.s_addr != 0) {
    if (!nodes[id->node].has_device) return -1;
    take_device(*id);
  }
  errno = EADDRINUSE;
  for (const auto& one : ids_)
    if (one.get() != id && one->in_kernel && one->listens && one->node == id->node &&
        one->route.addr.src_sin.sin_port == wanted.sin_port)
      return -1;
  id->route.addr.src_sin = wanted;
  return 0;
}

int FakeCm::resolve_addr(rdma_cm_id* given, sockaddr* to) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  errno = ENETUNREACH;
  if (!nodes[id->node].has_device) return -1;
  id->route.addr.dst_sin = *reinterpret_cast<const sockaddr_in*>(to);
  id->route.addr.src_sin = address(id->node, 0);
  take_device(*id);
  if (!id->synchronous) post(*id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int FakeCm::resolve_route(rdma_cm_id* given) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  if (!id->synchronous) post(*id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int FakeCm::create_qp(rdma_cm_id* given, ibv_pd* pd, ibv_qp_init_attr* init) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  Verbs& verbs = *nodes[id->node].verbs;
  id->qp = verbs.create_qp(pd == nullptr ? id->pd : pd, init);
  if (id->qp == nullptr) return -1;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  return verbs.modify_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

void FakeCm::destroy_qp(rdma_cm_id* given) {
  FakeId* id = known(given, false);
  EXPECT_EQ(nodes[id->node].verbs->destroy_qp(id->qp), 0);
  id->qp = nullptr;
}

int FakeCm::listen(rdma_cm_id* given) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  id->listens = true;
  return 0;
}

int FakeCm::connect(rdma_cm_id* given, rdma_conn_param* with) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  id->number = id->qp != nullptr ? id->qp->qp_num : with->qp_num;
  const sockaddr_in to = id->route.addr.dst_sin;
  const auto listener = std::find_if(ids_.begin(), ids_.end(), [&](const auto& one) {
    return one->listens && one->in_kernel && one->route.addr.src_sin.sin_port == to.sin_port &&
           address(one->node, ntohs(to.sin_port)).sin_addr.s_addr == to.sin_addr.s_addr;
  });
  if (listener == ids_.end()) {
    post(*id, RDMA_CM_EVENT_REJECTED, kNoListener);
    return 0;
  }
  const unsigned there = (*listener)->node;
  for (const auto& one : ids_)  // the kernel there believes that this QP is connected to another
    if (one->in_kernel && one->connected && one->node == there && one->far_number == id->number &&
        one->other != nullptr && one->other->node == id->node) {
      post(*id, RDMA_CM_EVENT_REJECTED, kStale);
      return 0;
    }
  rdma_cm_id* made = nullptr;
  create_id(there, (*listener)->channel, &made, (*listener)->context);
  auto& child = *static_cast<FakeId*>(made);
  take_device(child);
  child.other = id;
  id->other = &child;
  id->asks = true;
  child.far_number = id->number;
  rdma_conn_param said{};
  if (with != nullptr) said = *with;
  said.qp_num = id->number;
  post(**listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &said, &child);
  return 0;
}

int FakeCm::to_rts(FakeId& id) {
  if (id.qp == nullptr) return 0;
  const Node& node = nodes[id.node];
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_256;
  attr.dest_qp_num = id.far_number;
  attr.max_dest_rd_atomic = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = nodes[id.other->node].gid;
  attr.ah_attr.grh.hop_limit = 1;
  attr.ah_attr.port_num = 1;
  if (const int error =
          node.verbs->modify_qp(id.qp, &attr,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
    return error;
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  return node.verbs->modify_qp(id.qp, &attr,
                               IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

int FakeCm::accept(rdma_cm_id* given, rdma_conn_param* with) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  errno = EINVAL;
  if (id->other == nullptr) return -1;
  id->number = id->qp != nullptr ? id->qp->qp_num : with->qp_num;
  id->other->far_number = id->number;
  if (const int error = to_rts(*id)) {
    errno = error;
    return -1;
  }
  id->connected = true;
  post(*id->other, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, with);
  return 0;
}

int FakeCm::disconnect(rdma_cm_id* given) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  if (id->qp != nullptr) nodes[id->node].verbs->modify_qp(id->qp, &attr, IBV_QP_STATE);
  if (id->other == nullptr) return 0;
  end(*id);
  post(*id, RDMA_CM_EVENT_DISCONNECTED);
  return 0;
}

int FakeCm::get_event(rdma_event_channel* given, rdma_cm_event** out) {
  auto& channel = *static_cast<FakeChannel*>(given);
  EXPECT_FALSE(channel.events.empty()) << "librdmacm would wait here";
  errno = EAGAIN;
  if (channel.events.empty()) return -1;
  auto event = std::move(channel.events.front());
  channel.events.pop_front();
  eventfd_t value = 0;
  static_cast<void>(eventfd_read(channel.fd, &value));
  ++event->counted->owed;
  auto& id = *static_cast<FakeId*>(event->id);
  if (event->event == RDMA_CM_EVENT_CONNECT_RESPONSE && id.other != nullptr) {
    const int error = to_rts(id);
    event->event = error == 0 ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_ERROR;
    id.asks = false;
    id.connected = error == 0;
    if (error == 0) post(*id.other, RDMA_CM_EVENT_ESTABLISHED);
  }
  *out = event.release();
  return 0;
}

int FakeCm::acknowledge(rdma_cm_event* given) {
  auto* event = static_cast<FakeCmEvent*>(given);
  known(event->counted, false);
  --event->counted->owed;
  delete event;
  return 0;
}

int FakeCm::migrate(rdma_cm_id* given, rdma_event_channel* to) {
  FakeId* id = known(given);
  if (id == nullptr) return -1;
  errno = EAGAIN;
  if (migrations_to_fail != 0 && migrations_to_fail-- != 0) return -1;
  EXPECT_EQ(id->owed, 0U) << "librdmacm would wait here for an acknowledgement";
  auto& from = *static_cast<FakeChannel*>(id->channel);
  const bool owned = id->synchronous;
  id->synchronous = to == nullptr;
  id->channel = to == nullptr ? create_channel(id->node) : to;
  auto& channel = *static_cast<FakeChannel*>(id->channel);
  eventfd_t value = 0;
  for (auto event = from.events.begin(); event != from.events.end();) {
    if ((*event)->counted != id) {
      ++event;
      continue;
    }
    channel.events.push_back(std::move(*event));
    event = from.events.erase(event);
    static_cast<void>(eventfd_read(from.fd, &value));
    eventfd_write(channel.fd, 1);
  }
  if (owned) destroy_channel(&from);
  return 0;
}

void FakeCm::remove_device(unsigned node) {
  nodes[node].has_device = false;
  for (const auto& id : ids_) {
    if (id->node != node || id->verbs == nullptr || !id->in_kernel) continue;
    end(*id);
    post(*id, RDMA_CM_EVENT_DEVICE_REMOVAL);
    id->in_kernel = id->listens = false;
  }
}

unsigned FakeCm::connections(unsigned node) const {
  return static_cast<unsigned>(std::count_if(ids_.begin(), ids_.end(), [&](const auto& id) {
    return id->node == node && id->in_kernel && id->connected;
  }));
}

unsigned FakeCm::listeners(unsigned node) const {
  return static_cast<unsigned>(std::count_if(ids_.begin(), ids_.end(), [&](const auto& id) {
    return id->node == node && id->in_kernel && id->listens;
  }));
}

}  // namespace rdmove::shadow::fake
