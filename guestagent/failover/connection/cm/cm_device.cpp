#include "guestagent/failover/connection/cm/cm_device.hpp"

#include <fcntl.h>

#include <algorithm>

#include "guestagent/failover/connection/cm/call_error.hpp"

namespace rdmove::failover::conn {
namespace {

constexpr unsigned events_at_once = 16;

void set_non_blocking(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<std::shared_ptr<Device>> CmDevice::open(ibv_context* context, AsyncRouter& events) {
  if (!context) return fail(ErrorCode::NoDevice, "the address is on no RDMA device");
  std::shared_ptr<CmDevice> device(new CmDevice);
  if (!(device->channel_ = ibv_create_comp_channel(context)))
    return call_failed("ibv_create_comp_channel", errno);
  if (!(device->domain_ = ibv_alloc_pd(context))) return call_failed("ibv_alloc_pd", errno);
  ibv_device_attr limits{};
  ibv_query_device(context, &limits);  // unknown: a queue for each
  device->completions_ = std::make_unique<CompletionPool>(
      CompletionPool::Maker{[context, channel = device->channel_](std::uint32_t depth, void* owner) {
                              return ibv_create_cq(context, static_cast<int>(depth), owner, channel, 0);
                            },
                            [](ibv_cq* queue) { ibv_destroy_cq(queue); }},
      static_cast<std::uint32_t>(std::max(limits.max_cqe, 0)));
  device->chunks_ = std::make_unique<ChunkRegistrations>(
      ChunkRegistrations::Calls{[domain = device->domain_](void* address, std::size_t bytes) {
                                  return ibv_reg_mr(domain, address, bytes, IBV_ACCESS_LOCAL_WRITE);
                                },
                                [](ibv_mr* region) { ibv_dereg_mr(region); }});
  set_non_blocking(device->channel_->fd);
  set_non_blocking(context->async_fd);
  auto inbox = events.subscribe(context);
  if (!inbox) return tl::unexpected(inbox.error());
  device->events_ = std::move(*inbox);
  return device;
}

CmDevice::~CmDevice() {
  events_.reset();
  completions_.reset();
  if (channel_) ibv_destroy_comp_channel(channel_);
  chunks_.reset();
  if (domain_) ibv_dealloc_pd(domain_);
}

// Acknowledged at once: ibv_destroy_cq waits for ever for an event that is not. Each asks for the next, so
// that under load there is always one: after a few, those that have been named have their turn.
std::optional<EndpointNumber> CmDevice::take_completion_event() {
  for (;;) {
    const auto ready = completions_->next_ready();
    if (ready != EndpointNumber::none) return ready;
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (events_taken_ == events_at_once || ibv_get_cq_event(channel_, &queue, &context) != 0) break;
    ++events_taken_;
    ibv_ack_cq_events(queue, 1);
    completions_->take_event(context);
  }
  events_taken_ = 0;
  return std::nullopt;
}

std::optional<AsyncEvent> CmDevice::take_async_event() {
  if (!failed_.empty()) {
    const auto endpoint = failed_.front();
    failed_.pop_front();
    return AsyncEvent{AsyncKind::QueueFatal, endpoint};
  }
  const auto told = events_->take();
  if (!told) return std::nullopt;
  switch (told->type) {
    case IBV_EVENT_DEVICE_FATAL:
      return AsyncEvent{AsyncKind::DeviceFatal, EndpointNumber::none};
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return AsyncEvent{AsyncKind::QueueFatal, told->endpoint};
    case IBV_EVENT_CQ_ERR:
      for (const auto endpoint : completions_->owners_on(told->queue)) failed_.push_back(endpoint);
      return AsyncEvent{};
    default:
      return AsyncEvent{};
  }
}

}  // namespace rdmove::failover::conn
