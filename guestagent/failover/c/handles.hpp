// What stands behind the C API's pointers. A handle is the handler of its C++ object, so that callbacks find
// their way to the caller's functions. All of a loop's handles are known to it: rdmove_loop_destroy() empties
// them.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>

#include "rdmove.h"
#include "rdmove/channel.hpp"
#include "rdmove/connection.hpp"
#include "rdmove/loop.hpp"

namespace rdmove::failover::c {

/// A loop's object as a C handle holds it.
class Held {
 public:
  virtual ~Held() = default;
  virtual void drop() = 0;  ///< destroys the C++ object; on the loop
};

}  // namespace rdmove::failover::c

struct rdmove_loop {
  std::unique_ptr<rdmove::failover::Loop> loop;
  bool has_thread = false;
  std::set<rdmove::failover::c::Held*> held;
};

namespace rdmove::failover::c {

/// The text of rdmove_error_message(), by thread.
std::string& last_message();

/// Keeps the message for rdmove_error_message() and gives the code to return.
int failed(ErrorCode code, std::string message);
int failed(const Error& error);
int invalid(const char* message);

inline int status(const Result<void>& result) {
  return result ? 0 : failed(result.error());
}

/// Runs `work` where the loop's objects may be touched, and gives its result.
template <class Work>
auto on_loop(rdmove_loop& loop, Work work) -> decltype(work()) {
  if (!loop.has_thread || !loop.loop || loop.loop->in_loop()) return work();
  decltype(work()) result{};
  std::string message;  // an error's text is kept by thread: it has to follow the result
  loop.loop->call([&] {
    result = work();
    message = last_message();
  });
  last_message() = std::move(message);
  return result;
}

/// What every rdmove_..._destroy() does. The last handle of a loop that is gone takes what is left of it
/// along.
template <class Handle>
void destroy(Handle* handle) {
  if (handle == nullptr) return;
  auto& loop = handle->loop;
  on_loop(loop, [&] {
    delete handle;
    return 0;
  });
  if (!loop.loop && loop.held.empty()) delete &loop;
}

/// A caller's structure may be from an earlier version: shorter than ours, the rest is zero.
template <class Struct>
Struct taken(const Struct* given) {
  Struct whole{};
  if (given != nullptr && given->size != 0)
    __builtin_memcpy(&whole, given, given->size < sizeof(Struct) ? given->size : sizeof(Struct));
  return whole;
}

/// Into a caller's buffer; gives the size of all there is.
size_t copy_out(std::span<const std::byte> data, void* buffer, size_t length);
int address_out(const SocketAddress& address, sockaddr_storage* out);

ConnectionOptions to_options(const rdmove_connection_options& given);
ChannelOptions to_options(const rdmove_channel_options& given);

}  // namespace rdmove::failover::c

struct rdmove_request {
  rdmove::failover::ConnectionRequest& request;
  rdmove_loop& loop;
};

struct rdmove_connection final : rdmove::failover::ConnectionHandler, rdmove::failover::c::Held {
  rdmove_connection(rdmove_loop& of, const rdmove_connection_callbacks& told, void* theirs);
  ~rdmove_connection() override;
  void drop() override;

  void opened(rdmove::failover::Connection&) override;
  void up(rdmove::failover::Connection&) override;
  void quiesce(rdmove::failover::Connection&, std::chrono::steady_clock::time_point) override;
  void down(rdmove::failover::Connection&, rdmove::failover::DownReason) override;
  void gone(rdmove::failover::Connection&, const rdmove::failover::Gone&) override;
  void completed(rdmove::failover::Connection&, const ibv_wc&) override;

  rdmove_loop& loop;
  const rdmove_connection_callbacks callbacks;
  void* const user;
  std::unique_ptr<rdmove::failover::Connection> owned;
  /// What calls act on: callbacks may come before `owned` is set.
  rdmove::failover::Connection* current = nullptr;
};

struct rdmove_channel final : rdmove::failover::ChannelHandler, rdmove::failover::c::Held {
  rdmove_channel(rdmove_loop& of, const rdmove_channel_callbacks& told, void* theirs);
  ~rdmove_channel() override;
  void drop() override;

  void up(rdmove::failover::Channel&) override;
  void down(rdmove::failover::Channel&, rdmove::failover::DownReason) override;
  void gone(rdmove::failover::Channel&, const rdmove::failover::ChannelEnd&) override;
  void received(rdmove::failover::Channel&, std::span<const std::byte>) override;
  void writable(rdmove::failover::Channel&) override;
  void acknowledged(rdmove::failover::Channel&, std::uint64_t) override;
  void regions_changed(rdmove::failover::Channel&) override;

  rdmove_loop& loop;
  const rdmove_channel_callbacks callbacks;
  void* const user;
  std::unique_ptr<rdmove::failover::Channel> owned;
  /// What calls act on: callbacks may come before `owned` is set.
  rdmove::failover::Channel* current = nullptr;
};
