#include "guestagent/failover/c/handles.hpp"

using namespace rdmove::failover;
using namespace rdmove::failover::c;

namespace {

constexpr const char* kGone = "the connection has ended";

// Calls that need the connection: `act` gets it, or the answer is Gone.
template <class Act>
int with(rdmove_connection* handle, Act act) {
  return on_loop(handle->loop, [&] {
    if (handle->current == nullptr) return failed(ErrorCode::Gone, kGone);
    return act(*handle->current);
  });
}

template <class Value, class Read>
Value read_or(rdmove_connection* handle, Value otherwise, Read read) {
  return on_loop(handle->loop,
                 [&]() -> Value { return handle->current ? read(*handle->current) : otherwise; });
}

void take(rdmove_connection& handle, std::unique_ptr<Connection> made) {
  handle.owned = std::move(made);
  handle.current = handle.owned.get();
}

}  // namespace

rdmove_connection::rdmove_connection(rdmove_loop& of, const rdmove_connection_callbacks& told, void* theirs)
    : loop(of), callbacks(told), user(theirs) {
  loop.held.insert(this);
}

rdmove_connection::~rdmove_connection() {
  drop();
  loop.held.erase(this);
}

void rdmove_connection::drop() {
  owned.reset();
  current = nullptr;
}

void rdmove_connection::opened(Connection& connection) {
  current = &connection;
  if (callbacks.opened) callbacks.opened(this, user);
}

void rdmove_connection::up(Connection& connection) {
  current = &connection;
  if (callbacks.up) callbacks.up(this, user);
}

void rdmove_connection::quiesce(Connection& connection, std::chrono::steady_clock::time_point deadline) {
  if (!callbacks.quiesce) return connection.quiesced();
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  callbacks.quiesce(this, static_cast<std::uint64_t>(std::max<std::int64_t>(0, left.count())), user);
}

void rdmove_connection::down(Connection&, DownReason reason) {
  if (callbacks.down) callbacks.down(this, static_cast<rdmove_down_reason>(reason), user);
}

void rdmove_connection::gone(Connection&, const Gone& why) {
  if (callbacks.gone)
    callbacks.gone(this, static_cast<rdmove_gone_reason>(why.reason), why.message.c_str(), user);
}

void rdmove_connection::completed(Connection&, const ibv_wc& completion) {
  if (callbacks.completed) callbacks.completed(this, &completion, user);
}

int rdmove_connect(rdmove_loop* loop, const sockaddr* peer, const sockaddr* local,
                   const rdmove_connection_options* options, const rdmove_connection_callbacks* callbacks,
                   void* user, rdmove_connection** connection) {
  if (loop == nullptr || peer == nullptr || connection == nullptr)
    return invalid("rdmove_connect: the loop, the peer and the pointer for the connection must not be NULL");
  return on_loop(*loop, [&] {
    auto handle = std::make_unique<rdmove_connection>(*loop, taken(callbacks), user);
    *connection = handle.get();
    std::optional<SocketAddress> from;
    if (local != nullptr) from = SocketAddress::from(local);
    auto made = Connection::connect(*loop->loop, SocketAddress::from(peer), to_options(taken(options)),
                                    *handle, from);
    if (!made) {
      *connection = nullptr;
      return failed(made.error());
    }
    take(*handle, std::move(*made));
    handle.release();
    return 0;
  });
}

int rdmove_accept(rdmove_request* request, const rdmove_connection_options* options,
                  const rdmove_connection_callbacks* callbacks, void* user, rdmove_connection** connection) {
  if (request == nullptr || connection == nullptr)
    return invalid("rdmove_accept: the request and the pointer for the connection must not be NULL");
  auto handle = std::make_unique<rdmove_connection>(request->loop, taken(callbacks), user);
  *connection = handle.get();
  auto made = request->request.accept(to_options(taken(options)), *handle);
  if (!made) {
    *connection = nullptr;
    return failed(made.error());
  }
  take(*handle, std::move(*made));
  handle.release();
  return 0;
}

void rdmove_connection_destroy(rdmove_connection* connection) {
  destroy(connection);
}

int rdmove_connection_state(rdmove_connection* connection) {
  return read_or(connection, static_cast<int>(RDMOVE_GONE),
                 [](auto& c) { return static_cast<int>(c.state()); });
}

uint64_t rdmove_connection_id(rdmove_connection* connection) {
  return read_or<uint64_t>(connection, 0, [](auto& c) { return c.id(); });
}

uint32_t rdmove_connection_epoch(rdmove_connection* connection) {
  return read_or<uint32_t>(connection, 0, [](auto& c) { return c.epoch(); });
}

int rdmove_connection_local(rdmove_connection* connection, sockaddr_storage* address) {
  return with(connection, [&](auto& c) { return address_out(c.local(), address); });
}

int rdmove_connection_peer(rdmove_connection* connection, sockaddr_storage* address) {
  return with(connection, [&](auto& c) { return address_out(c.peer(), address); });
}

size_t rdmove_connection_peer_private_data(rdmove_connection* connection, void* buffer, size_t length) {
  return read_or<size_t>(connection, 0,
                         [&](auto& c) { return copy_out(c.peer_private_data(), buffer, length); });
}

int64_t rdmove_connection_last_blackout_ms(rdmove_connection* connection) {
  return read_or<int64_t>(connection, 0, [](auto& c) { return c.last_blackout().count(); });
}

ibv_qp* rdmove_connection_queue_pair(rdmove_connection* connection) {
  return read_or<ibv_qp*>(connection, nullptr, [](auto& c) { return c.queue_pair(); });
}

ibv_pd* rdmove_connection_protection_domain(rdmove_connection* connection) {
  return read_or<ibv_pd*>(connection, nullptr, [](auto& c) { return c.protection_domain(); });
}

int rdmove_connection_post_send(rdmove_connection* connection, ibv_send_wr* first) {
  if (first == nullptr) return invalid("rdmove_connection_post_send: no work request");
  return with(connection, [&](auto& c) { return status(c.post_send(*first)); });
}

int rdmove_connection_post_receive(rdmove_connection* connection, ibv_recv_wr* first) {
  if (first == nullptr) return invalid("rdmove_connection_post_receive: no work request");
  return with(connection, [&](auto& c) { return status(c.post_receive(*first)); });
}

int rdmove_connection_quiesced(rdmove_connection* connection) {
  return with(connection, [](auto& c) { return c.quiesced(), 0; });
}

int rdmove_connection_restart(rdmove_connection* connection) {
  return with(connection, [](auto& c) { return c.restart(), 0; });
}
