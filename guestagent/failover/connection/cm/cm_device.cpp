#include "guestagent/failover/connection/cm/cm_device.hpp"

#include <fcntl.h>

#include "guestagent/failover/connection/cm/call_error.hpp"

namespace rdmove::failover::conn {
namespace {

void set_non_blocking(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
}

EndpointNumber number_in(const void* context) {
  return EndpointNumber{reinterpret_cast<std::uintptr_t>(context)};
}

}  // namespace

Result<std::shared_ptr<Device>> CmDevice::open(ibv_context* context) {
  if (!context) return fail(ErrorCode::NoDevice, "the address is on no RDMA device");
  std::shared_ptr<CmDevice> device(new CmDevice(context));
  if (!(device->channel_ = ibv_create_comp_channel(context)))
    return call_failed("ibv_create_comp_channel", errno);
  if (!(device->domain_ = ibv_alloc_pd(context))) return call_failed("ibv_alloc_pd", errno);
  set_non_blocking(device->channel_->fd);
  set_non_blocking(context->async_fd);
  return device;
}

CmDevice::~CmDevice() {
  if (channel_) ibv_destroy_comp_channel(channel_);
  if (domain_) ibv_dealloc_pd(domain_);
}

// Acknowledged at once: ibv_destroy_cq waits for ever for an event that is not.
std::optional<EndpointNumber> CmDevice::take_completion_event() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_, &queue, &context) != 0) return std::nullopt;
  ibv_ack_cq_events(queue, 1);
  return number_in(context);
}

std::optional<AsyncEvent> CmDevice::take_async_event() {
  ibv_async_event raw{};
  if (ibv_get_async_event(context_, &raw) != 0) return std::nullopt;
  AsyncEvent event;
  switch (raw.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      event.kind = AsyncKind::DeviceFatal;
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      event = {AsyncKind::QueueFatal, number_in(raw.element.qp->qp_context)};
      break;
    case IBV_EVENT_CQ_ERR:
      event = {AsyncKind::QueueFatal, number_in(raw.element.cq->cq_context)};
      break;
    default:
      break;
  }
  ibv_ack_async_event(&raw);
  return event;
}

}  // namespace rdmove::failover::conn
