#include "guestagent/failover/c/handles.hpp"

using namespace rdmove::failover;
using namespace rdmove::failover::c;

namespace {

template <class Value, class Read>
Value read_or(rdmove_channel* handle, Value otherwise, Read read) {
  return on_loop(handle->loop,
                 [&]() -> Value { return handle->current ? read(*handle->current) : otherwise; });
}

template <class Act>
int with(rdmove_channel* handle, Act act) {
  return on_loop(handle->loop, [&] {
    if (handle->current == nullptr) return failed(ErrorCode::Gone, "the channel has ended");
    return act(*handle->current);
  });
}

void take(rdmove_channel& handle, std::unique_ptr<Channel> made) {
  handle.owned = std::move(made);
  handle.current = handle.owned.get();
}

rdmove_range to_range(const MessageRange& range) {
  return {range.first, range.last};
}

OneSidedDone to_done(rdmove_done done, void* user) {
  return [done, user](const Result<void>& result) {
    if (done == nullptr) return;
    if (result)
      done(0, "", user);
    else
      done(-static_cast<int>(result.error().code), result.error().message.c_str(), user);
  };
}

}  // namespace

rdmove_channel::rdmove_channel(rdmove_loop& of, const rdmove_channel_callbacks& told, void* theirs)
    : loop(of), callbacks(told), user(theirs) {
  loop.held.insert(this);
}

rdmove_channel::~rdmove_channel() {
  drop();
  loop.held.erase(this);
}

void rdmove_channel::drop() {
  owned.reset();
  current = nullptr;
}

void rdmove_channel::up(Channel& channel) {
  current = &channel;
  if (callbacks.up) callbacks.up(this, user);
}

void rdmove_channel::down(Channel&, DownReason reason) {
  if (callbacks.down) callbacks.down(this, static_cast<rdmove_down_reason>(reason), user);
}

void rdmove_channel::gone(Channel&, const ChannelEnd& end) {
  const rdmove_channel_end told{static_cast<rdmove_gone_reason>(end.why.reason), end.why.message.c_str(),
                                to_range(end.acknowledged), to_range(end.unknown), to_range(end.unsent)};
  if (callbacks.gone) callbacks.gone(this, &told, user);
}

void rdmove_channel::received(Channel& channel, std::span<const std::byte> message) {
  current = &channel;
  if (callbacks.received) callbacks.received(this, message.data(), message.size(), user);
}

void rdmove_channel::writable(Channel&) {
  if (callbacks.writable) callbacks.writable(this, user);
}

void rdmove_channel::acknowledged(Channel&, std::uint64_t number) {
  if (callbacks.acknowledged) callbacks.acknowledged(this, number, user);
}

void rdmove_channel::regions_changed(Channel&) {
  if (callbacks.regions_changed) callbacks.regions_changed(this, user);
}

int rdmove_channel_connect(rdmove_loop* loop, const sockaddr* peer, const sockaddr* local,
                           const rdmove_channel_options* options, const rdmove_channel_callbacks* callbacks,
                           void* user, rdmove_channel** channel) {
  if (loop == nullptr || peer == nullptr || channel == nullptr)
    return invalid(
        "rdmove_channel_connect: the loop, the peer and the pointer for the channel must not be NULL");
  return on_loop(*loop, [&] {
    auto handle = std::make_unique<rdmove_channel>(*loop, taken(callbacks), user);
    *channel = handle.get();
    std::optional<SocketAddress> from;
    if (local != nullptr) from = SocketAddress::from(local);
    auto made =
        Channel::connect(*loop->loop, SocketAddress::from(peer), to_options(taken(options)), *handle, from);
    if (!made) {
      *channel = nullptr;
      return failed(made.error());
    }
    take(*handle, std::move(*made));
    handle.release();
    return 0;
  });
}

int rdmove_channel_accept(rdmove_request* request, const rdmove_channel_options* options,
                          const rdmove_channel_callbacks* callbacks, void* user, rdmove_channel** channel) {
  if (request == nullptr || channel == nullptr)
    return invalid("rdmove_channel_accept: the request and the pointer for the channel must not be NULL");
  auto handle = std::make_unique<rdmove_channel>(request->loop, taken(callbacks), user);
  *channel = handle.get();
  auto made = Channel::accept(request->request, to_options(taken(options)), *handle);
  if (!made) {
    *channel = nullptr;
    return failed(made.error());
  }
  take(*handle, std::move(*made));
  handle.release();
  return 0;
}

void rdmove_channel_destroy(rdmove_channel* channel) {
  destroy(channel);
}

int64_t rdmove_channel_send(rdmove_channel* channel, const void* message, size_t length) {
  return on_loop(channel->loop, [&]() -> int64_t {
    if (channel->current == nullptr) return failed(ErrorCode::Gone, "the channel has ended");
    auto number = channel->current->send({static_cast<const std::byte*>(message), length});
    return number ? static_cast<int64_t>(*number) : failed(number.error());
  });
}

int rdmove_channel_pause(rdmove_channel* channel) {
  return with(channel, [](auto& c) { return c.pause(), 0; });
}

int rdmove_channel_unpause(rdmove_channel* channel) {
  return with(channel, [](auto& c) { return c.unpause(), 0; });
}

int rdmove_channel_finish(rdmove_channel* channel) {
  return with(channel, [](auto& c) { return c.finish(), 0; });
}

int rdmove_channel_close(rdmove_channel* channel) {
  return with(channel, [](auto& c) { return c.close(), 0; });
}

int rdmove_channel_state(rdmove_channel* channel) {
  return read_or(channel, static_cast<int>(RDMOVE_GONE), [](auto& c) { return static_cast<int>(c.state()); });
}

uint64_t rdmove_channel_id(rdmove_channel* channel) {
  return read_or<uint64_t>(channel, 0, [](auto& c) { return c.connection().id(); });
}

uint32_t rdmove_channel_epoch(rdmove_channel* channel) {
  return read_or<uint32_t>(channel, 0, [](auto& c) { return c.connection().epoch(); });
}

int rdmove_channel_local(rdmove_channel* channel, sockaddr_storage* address) {
  return with(channel, [&](auto& c) { return address_out(c.connection().local(), address); });
}

int rdmove_channel_peer(rdmove_channel* channel, sockaddr_storage* address) {
  return with(channel, [&](auto& c) { return address_out(c.connection().peer(), address); });
}

size_t rdmove_channel_peer_private_data(rdmove_channel* channel, void* buffer, size_t length) {
  return read_or<size_t>(
      channel, 0, [&](auto& c) { return copy_out(c.connection().peer_private_data(), buffer, length); });
}

int64_t rdmove_channel_last_blackout_ms(rdmove_channel* channel) {
  return read_or<int64_t>(channel, 0, [](auto& c) { return c.connection().last_blackout().count(); });
}

uint64_t rdmove_channel_sent(rdmove_channel* channel) {
  return read_or<uint64_t>(channel, 0, [](auto& c) { return c.sent(); });
}

uint64_t rdmove_channel_acknowledged(rdmove_channel* channel) {
  return read_or<uint64_t>(channel, 0, [](auto& c) { return c.acknowledged(); });
}

uint64_t rdmove_channel_delivered(rdmove_channel* channel) {
  return read_or<uint64_t>(channel, 0, [](auto& c) { return c.delivered(); });
}

uint64_t rdmove_channel_resent(rdmove_channel* channel) {
  return read_or<uint64_t>(channel, 0, [](auto& c) { return c.resent(); });
}

uint32_t rdmove_channel_message_limit(rdmove_channel* channel) {
  return read_or<uint32_t>(channel, 0, [](auto& c) { return c.message_limit(); });
}

int rdmove_channel_register_region(rdmove_channel* channel, const char* name, void* address, size_t length,
                                   rdmove_access access) {
  if (name == nullptr) return invalid("rdmove_channel_register_region: the region needs a name");
  return with(channel, [&](auto& c) {
    return status(c.register_region(name, address, length, static_cast<RegionAccess>(access)));
  });
}

int rdmove_channel_withdraw_region(rdmove_channel* channel, const char* name) {
  if (name == nullptr) return invalid("rdmove_channel_withdraw_region: which region?");
  return with(channel, [&](auto& c) { return status(c.withdraw_region(name)); });
}

int64_t rdmove_channel_peer_region(rdmove_channel* channel, const char* name) {
  return on_loop(channel->loop, [&]() -> int64_t {
    if (channel->current == nullptr) return failed(ErrorCode::Gone, "the channel has ended");
    const auto length = name ? channel->current->peer_region(name) : std::nullopt;
    return length ? static_cast<int64_t>(*length)
                  : failed(ErrorCode::NoSuchRegion, "the peer shows no region of this name (yet)");
  });
}

int rdmove_channel_write(rdmove_channel* channel, const char* region, size_t offset, size_t length,
                         const char* peer_region, size_t peer_offset, rdmove_done done, void* user) {
  if (region == nullptr || peer_region == nullptr)
    return invalid("rdmove_channel_write: both regions need a name");
  return with(channel, [&](auto& c) {
    return status(c.write({region, offset, length}, peer_region, peer_offset, to_done(done, user)));
  });
}

int rdmove_channel_read(rdmove_channel* channel, const char* peer_region, size_t peer_offset,
                        const char* region, size_t offset, size_t length, rdmove_done done, void* user) {
  if (region == nullptr || peer_region == nullptr)
    return invalid("rdmove_channel_read: both regions need a name");
  return with(channel, [&](auto& c) {
    return status(c.read(peer_region, peer_offset, {region, offset, length}, to_done(done, user)));
  });
}
