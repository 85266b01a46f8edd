// Contexts, protection domains, memory regions, channels, CQs and address handles.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "shadowdev/fakeverbs/wire.hpp"
#include "shadowdev/verbs/qp_attributes.hpp"

namespace rdmove::shadow::fake {
namespace {

/// Blocks unless the descriptor does not, as read() on the kernel's does. False: errno is set.
bool take_one(int fd) {
  for (;;) {
    eventfd_t value = 0;
    if (eventfd_read(fd, &value) == 0) return true;
    if (errno != EAGAIN || (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0) return false;
  }
}

}  // namespace

ibv_context* FakeVerbs::open(std::string_view name) {
  const std::lock_guard hold(fabric_.lock_);
  Device* device = fabric_.find(name);
  if (device == nullptr) return refused<ibv_context>(ENODEV);
  if (const int error = fabric_.faults.strike()) return refused<ibv_context>(error);
  auto* context = new Context();
  context->device = device;
  context->context.device = &device->shown;
  context->context.async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  context->context.cmd_fd = -1;
  context->context.num_comp_vectors = 1;
  DataPath::fill(*context);
  device->contexts.insert(context);
  return &context->context;
}

int FakeVerbs::close(ibv_context* shown) {
  const std::lock_guard hold(fabric_.lock_);
  Context* context = Context::of(shown);
  if (const int error = fabric_.faults.strike()) return error;
  if (context->children != 0) return EBUSY;
  context->device->contexts.erase(context);
  ::close(shown->async_fd);
  delete context;
  return 0;
}

int FakeVerbs::device_attributes(ibv_context* context, ibv_device_attr* out) {
  const std::lock_guard hold(fabric_.lock_);
  const Device& device = device_of(context);
  if (device.dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  *out = {};
  out->max_qp = device.limits.max_qp;
  out->max_qp_wr = device.limits.max_qp_wr;
  out->max_cqe = device.limits.max_cqe;
  out->max_srq_wr = device.limits.max_qp_wr;
  out->max_sge = out->max_srq_sge = 16;
  out->max_qp_rd_atom = out->max_qp_init_rd_atom = 16;
  out->atomic_cap = IBV_ATOMIC_HCA;
  out->phys_port_cnt = 1;
  return 0;
}

int FakeVerbs::port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* out) {
  const std::lock_guard hold(fabric_.lock_);
  const Device& device = device_of(context);
  if (device.dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  if (port != 1) return EINVAL;
  *out = {};
  out->state = IBV_PORT_ACTIVE;
  out->max_mtu = out->active_mtu = IBV_MTU_4096;
  out->gid_tbl_len = out->pkey_tbl_len = 1;
  out->lid = device.lid;
  out->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int FakeVerbs::gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) {
  const std::lock_guard hold(fabric_.lock_);
  const Device& device = device_of(context);
  if (device.dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  if (port != 1 || index != 0) return EINVAL;
  *out = device.gid;
  return 0;
}

int FakeVerbs::gid_table(ibv_context* context, std::vector<ibv_gid_entry>* out) {
  const std::lock_guard hold(fabric_.lock_);
  const Device& device = device_of(context);
  if (device.dead) return EIO;
  if (const int error = fabric_.faults.strike()) return error;
  *out = {ibv_gid_entry{device.gid, device.gid_index, 1, IBV_GID_TYPE_ROCE_V2, 0}};
  return 0;
}

ibv_pd* FakeVerbs::alloc_pd(ibv_context* context) {
  const std::lock_guard hold(fabric_.lock_);
  if (device_of(context).dead) return refused<ibv_pd>(EIO);
  if (const int error = fabric_.faults.strike()) return refused<ibv_pd>(error);
  auto* pd = new Pd();
  pd->context = context;
  ++Context::of(context)->children;
  return pd;
}

int FakeVerbs::dealloc_pd(ibv_pd* shown) {
  const std::lock_guard hold(fabric_.lock_);
  auto* pd = static_cast<Pd*>(shown);
  if (const int error = fabric_.faults.strike()) return error;
  if (pd->children != 0) return EBUSY;
  --Context::of(pd->context)->children;
  delete pd;
  return 0;
}

ibv_mr* FakeVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                          unsigned access) {
  const std::lock_guard hold(fabric_.lock_);
  Device& device = device_of(pd->context);
  if (device.dead) return refused<ibv_mr>(EIO);
  if (const int error = fabric_.faults.strike()) return refused<ibv_mr>(error);
  auto* mr = new Mr();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->iova = iova;
  mr->access = access;
  mr->lkey = mr->rkey = fabric_.free_key(device);
  device.mrs[mr->lkey] = mr;
  ++static_cast<Pd*>(pd)->children;
  return mr;
}

int FakeVerbs::dereg_mr(ibv_mr* shown) {
  const std::lock_guard hold(fabric_.lock_);
  auto* mr = static_cast<Mr*>(shown);
  if (const int error = fabric_.faults.strike()) return error;
  device_of(mr->context).mrs.erase(mr->lkey);
  --static_cast<Pd*>(mr->pd)->children;
  delete mr;
  return 0;
}

ibv_comp_channel* FakeVerbs::create_channel(ibv_context* context) {
  const std::lock_guard hold(fabric_.lock_);
  if (device_of(context).dead) return refused<ibv_comp_channel>(EIO);
  if (const int error = fabric_.faults.strike()) return refused<ibv_comp_channel>(error);
  auto* channel = new Channel();
  channel->context = context;
  channel->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  ++Context::of(context)->children;
  return channel;
}

int FakeVerbs::destroy_channel(ibv_comp_channel* shown) {
  const std::lock_guard hold(fabric_.lock_);
  auto* channel = static_cast<Channel*>(shown);
  if (const int error = fabric_.faults.strike()) return error;
  if (channel->refcnt != 0) return EBUSY;
  --Context::of(channel->context)->children;
  ::close(channel->fd);
  delete channel;
  return 0;
}

ibv_cq* FakeVerbs::create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                             int /*vector*/) {
  const std::lock_guard hold(fabric_.lock_);
  const Device& device = device_of(context);
  if (device.dead) return refused<ibv_cq>(EIO);
  if (const int error = fabric_.faults.strike()) return refused<ibv_cq>(error);
  if (entries < 1 || entries > device.limits.max_cqe) return refused<ibv_cq>(EINVAL);
  auto* cq = new Cq();
  cq->context = context;
  cq->cq_context = cq_context;
  cq->channel = channel;
  cq->cqe = entries;
  if (channel != nullptr) ++channel->refcnt;
  ++Context::of(context)->children;
  return cq;
}

int FakeVerbs::destroy_cq(ibv_cq* shown) {
  const std::lock_guard hold(fabric_.lock_);
  auto* cq = static_cast<Cq*>(shown);
  if (const int error = fabric_.faults.strike()) return error;
  if (cq->users != 0) return EBUSY;
  if (cq->channel != nullptr) {
    auto& events = static_cast<Channel*>(cq->channel)->events;
    cq->unacknowledged -=
        static_cast<unsigned>(std::erase(events, cq));  // the kernel drops what was not read
    if (cq->unacknowledged != 0) return EBUSY;
    --cq->channel->refcnt;
  }
  --Context::of(cq->context)->children;
  delete cq;
  return 0;
}

int FakeVerbs::get_cq_event(ibv_comp_channel* shown, ibv_cq** cq, void** cq_context) {
  auto* channel = static_cast<Channel*>(shown);
  for (;;) {
    if (!take_one(channel->fd)) return -1;
    const std::lock_guard hold(fabric_.lock_);
    if (channel->events.empty()) continue;  // of a CQ that was destroyed
    *cq = channel->events.front();
    *cq_context = (*cq)->cq_context;
    channel->events.pop_front();
    return 0;
  }
}

void FakeVerbs::ack_cq_events(ibv_cq* cq, unsigned events) {
  const std::lock_guard hold(fabric_.lock_);
  static_cast<Cq*>(cq)->unacknowledged -= events;
}

ibv_ah* FakeVerbs::create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  const std::lock_guard hold(fabric_.lock_);
  if (device_of(pd->context).dead) return refused<ibv_ah>(EIO);
  if (const int error = fabric_.faults.strike()) return refused<ibv_ah>(error);
  if (attributes->grh.sgid_index != device_of(pd->context).gid_index) return refused<ibv_ah>(EINVAL);
  auto* ah = new Ah();
  ah->context = pd->context;
  ah->pd = pd;
  ah->attributes = *attributes;
  ++static_cast<Pd*>(pd)->children;
  return ah;
}

int FakeVerbs::destroy_ah(ibv_ah* ah) {
  const std::lock_guard hold(fabric_.lock_);
  if (const int error = fabric_.faults.strike()) return error;
  --static_cast<Pd*>(ah->pd)->children;
  delete static_cast<Ah*>(ah);
  return 0;
}

int FakeVerbs::get_async_event(ibv_context* shown, ibv_async_event* out) {
  for (;;) {
    if (!take_one(shown->async_fd)) return -1;
    const std::lock_guard hold(fabric_.lock_);
    auto& events = Context::of(shown)->events;
    if (events.empty()) continue;
    *out = events.front();
    events.pop_front();
    return 0;
  }
}

void FakeVerbs::ack_async_event(ibv_async_event* /*event*/) {}

}  // namespace rdmove::shadow::fake
