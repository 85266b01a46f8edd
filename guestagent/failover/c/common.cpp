#include <algorithm>
#include <cstring>

#include "guestagent/failover/c/handles.hpp"

namespace rdmove::failover::c {
namespace {

template <class Number, class Default>
Number or_default(Number given, Default fallback) {
  return given != 0 ? given : static_cast<Number>(fallback);
}

}  // namespace

std::string& last_message() {
  thread_local std::string message;
  return message;
}

int failed(ErrorCode code, std::string message) {
  last_message() = std::move(message);
  return -static_cast<int>(code);
}

int failed(const Error& error) {
  return failed(error.code, error.message);
}

int invalid(const char* message) {
  return failed(ErrorCode::InvalidArgument, message);
}

size_t copy_out(std::span<const std::byte> data, void* buffer, size_t length) {
  if (buffer != nullptr)
    std::copy_n(data.begin(), std::min(length, data.size()), static_cast<std::byte*>(buffer));
  return data.size();
}

int address_out(const SocketAddress& address, sockaddr_storage* out) {
  if (out == nullptr) return invalid("the pointer for the address must not be NULL");
  std::memcpy(out, address.get(), sizeof *out);
  return 0;
}

ConnectionOptions to_options(const rdmove_connection_options& given) {
  ConnectionOptions options;
  auto& queues = options.queues;
  queues.send_depth = or_default(given.send_depth, queues.send_depth);
  queues.receive_depth = or_default(given.receive_depth, queues.receive_depth);
  queues.max_send_sge = or_default(given.max_send_sge, queues.max_send_sge);
  queues.max_receive_sge = or_default(given.max_receive_sge, queues.max_receive_sge);
  queues.max_inline = given.max_inline;
  if (given.give_up_after_ms != 0) options.give_up_after = std::chrono::milliseconds(given.give_up_after_ms);
  if (given.keepalive_ms != 0)
    options.keepalive = std::chrono::milliseconds(given.keepalive_ms == UINT32_MAX ? 0 : given.keepalive_ms);
  options.ack_timeout = or_default(given.ack_timeout, options.ack_timeout);
  options.retry_count = or_default(given.retry_count, options.retry_count);
  options.remote_reads = or_default(given.remote_reads, options.remote_reads);
  options.receives_come_first = given.receives_come_first != 0;
  if (given.private_data != nullptr) {
    const auto* bytes = static_cast<const std::byte*>(given.private_data);
    options.private_data.assign(bytes, bytes + given.private_data_length);
  }
  return options;
}

ChannelOptions to_options(const rdmove_channel_options& given) {
  ChannelOptions options;
  options.message_limit = or_default(given.message_limit, options.message_limit);
  options.send_limit = given.send_limit;
  options.send_slots = or_default(given.send_slots, options.send_slots);
  options.receive_slots = or_default(given.receive_slots, options.receive_slots);
  options.connection = to_options(taken(&given.connection));
  return options;
}

}  // namespace rdmove::failover::c

using namespace rdmove::failover::c;

const char* rdmove_error_message() {
  return last_message().c_str();
}

const char* rdmove_version() {
  return RDMOVE_VERSION;
}

const char* rdmove_down_reason_text(rdmove_down_reason reason) {
  return to_text(static_cast<rdmove::failover::DownReason>(reason)).data();
}

const char* rdmove_gone_reason_text(rdmove_gone_reason reason) {
  return to_text(static_cast<rdmove::failover::GoneReason>(reason)).data();
}

int rdmove_loop_create(const rdmove_loop_options* given, rdmove_loop** loop) {
  if (loop == nullptr) return invalid("rdmove_loop_create: the pointer for the loop is NULL");
  const auto asked = taken(given);
  rdmove::failover::LoopOptions options;
  if (asked.name != nullptr) options.name = asked.name;
  if (asked.agent_socket != nullptr) options.agent_socket = asked.agent_socket;
  if (asked.backlog != 0) options.backlog = asked.backlog;
  auto made = rdmove::failover::Loop::create(options);
  if (!made) return failed(made.error());
  auto handle = std::make_unique<rdmove_loop>();
  handle->loop = std::move(*made);
  *loop = handle.release();
  return 0;
}

void rdmove_loop_destroy(rdmove_loop* loop) {
  if (loop == nullptr) return;
  on_loop(*loop, [&] {
    for (auto* held : std::set(loop->held)) held->drop();
    return 0;
  });
  loop->loop.reset();
  if (loop->held.empty()) delete loop;  // else with the last handle
}

int rdmove_loop_fd(rdmove_loop* loop) {
  return loop->loop->fd();
}

int rdmove_loop_dispatch(rdmove_loop* loop) {
  if (loop->has_thread)
    return invalid("rdmove_loop_dispatch: this loop has a thread of its own (rdmove_loop_start)");
  loop->loop->dispatch();
  return 0;
}

int rdmove_loop_start(rdmove_loop* loop) {
  auto started = loop->loop->start_thread();
  loop->has_thread = started.has_value();
  return status(started);
}
