#include "cm_events.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace beat {

std::string last_error(const char* call) {
  return std::string(call) + ": " + std::strerror(errno);
}

std::string CmEvent::describe() const {
  return std::string(rdma_event_str(type)) + " status=" + std::to_string(status);
}

Result<Channel> make_channel() {
  Channel channel(rdma_create_event_channel());
  if (!channel) return tl::unexpected(last_error("rdma_create_event_channel"));
  const int flags = fcntl(channel->fd, F_GETFL);
  if (fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) return tl::unexpected(last_error("fcntl"));
  return channel;
}

Result<Id> make_id(const Channel& channel) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0)
    return tl::unexpected(last_error("rdma_create_id"));
  return Id(id);
}

std::optional<CmEvent> take_event(const Channel& channel) {
  rdma_cm_event* raw = nullptr;
  if (rdma_get_cm_event(channel.get(), &raw) != 0) return std::nullopt;
  CmEvent event{raw->event, raw->status, raw->id, {}};
  if (raw->event == RDMA_CM_EVENT_CONNECT_REQUEST && raw->param.conn.private_data) {
    const auto* data = static_cast<const std::uint8_t*>(raw->param.conn.private_data);
    event.private_data.assign(data, data + raw->param.conn.private_data_len);
  }
  rdma_ack_cm_event(raw);
  return event;
}

void let_go_of_devices() {
  int count = 0;
  if (ibv_context** devices = rdma_get_devices(&count)) rdma_free_devices(devices);
}

}  // namespace beat
