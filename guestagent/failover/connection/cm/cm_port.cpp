#include "guestagent/failover/connection/cm/cm_port.hpp"

#include <fcntl.h>

#include "guestagent/failover/connection/cm/call_error.hpp"
#include "guestagent/failover/connection/cm/cm_device.hpp"
#include "guestagent/failover/connection/cm/cm_endpoint.hpp"

namespace rdmove::failover::conn {
namespace {

constexpr int broken_events = 64;  // in a row, then the next readiness is waited for

CmEventKind kind_of(rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return CmEventKind::AddressResolved;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return CmEventKind::RouteResolved;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return CmEventKind::ConnectRequest;
    case RDMA_CM_EVENT_ESTABLISHED:
      return CmEventKind::Established;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      return CmEventKind::Failed;
    case RDMA_CM_EVENT_REJECTED:
      return CmEventKind::Rejected;
    case RDMA_CM_EVENT_DISCONNECTED:
      return CmEventKind::Disconnected;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return CmEventKind::DeviceRemoval;
    default:
      return CmEventKind::Other;
  }
}

bool has_private_data(CmEventKind kind) {
  return kind == CmEventKind::ConnectRequest || kind == CmEventKind::Established ||
         kind == CmEventKind::Rejected;
}

const ibv_context* context_of(DeviceNumber device) {
  return reinterpret_cast<const ibv_context*>(static_cast<std::uintptr_t>(device));
}

}  // namespace

CmPort::~CmPort() {
  for (const auto device : held_) process_.contexts.release(context_of(device));
  if (channel_) rdma_destroy_event_channel(channel_);
}

Result<void> CmPort::open() {
  if (channel_) return {};
  const auto devices = process_.contexts.meet_devices();
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (!channel) return call_failed("rdma_create_event_channel", errno);
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  channel_ = channel;
  return {};
}

// Acknowledged at once: rdma_destroy_id waits for ever for an event that is not.
std::optional<CmEvent> CmPort::take_event() {
  for (int i = 0; channel_ && i < broken_events; ++i) {
    const auto devices = process_.contexts.meet_devices();
    rdma_cm_event* raw = nullptr;
    if (rdma_get_cm_event(channel_, &raw) != 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
      continue;
    }
    CmEvent event;
    event.kind = kind_of(raw->event);
    event.status = raw->status;
    if (event.kind == CmEventKind::ConnectRequest) {
      event.endpoint = CmEndpoint::number_of(raw->listen_id);
      event.incoming = std::make_unique<CmEndpoint>(raw->id, process_.contexts);
      event.remote_reads = raw->param.conn.responder_resources;
    } else {
      event.endpoint = CmEndpoint::number_of(raw->id);
    }
    if (has_private_data(event.kind) && raw->param.conn.private_data) {
      const auto* data = static_cast<const std::byte*>(raw->param.conn.private_data);
      event.private_data.assign(data, data + raw->param.conn.private_data_len);
    }
    rdma_ack_cm_event(raw);
    return event;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Endpoint>> CmPort::make_endpoint() {
  if (auto opened = open(); !opened) return tl::unexpected(opened.error());
  const auto devices = process_.contexts.meet_devices();
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) != 0) return call_failed("rdma_create_id", errno);
  return std::make_unique<CmEndpoint>(id, process_.contexts);
}

Result<std::shared_ptr<Device>> CmPort::open_device(const Endpoint& on_it) {
  return CmDevice::open(static_cast<const CmEndpoint&>(on_it).context(), process_.events);
}

void CmPort::hold(DeviceNumber device) {
  held_.insert(device);
  process_.contexts.hold(context_of(device));
}

void CmPort::release(DeviceNumber device) {
  if (drop(device)) process_.contexts.release(context_of(device));
}

void CmPort::let_go_of(DeviceNumber device) {
  if (drop(device)) process_.contexts.let_go(context_of(device));
}

bool CmPort::drop(DeviceNumber device) {
  const auto held = held_.find(device);
  if (held == held_.end()) return false;
  held_.erase(held);
  return true;
}

}  // namespace rdmove::failover::conn
