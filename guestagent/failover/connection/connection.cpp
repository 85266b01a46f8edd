#include "rdmove/connection.hpp"

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/listener_core.hpp"
#include "guestagent/failover/connection/loop_core.hpp"
#include "rdmove/loop.hpp"

namespace rdmove::failover {

void ConnectionHandler::quiesce(Connection& connection, std::chrono::steady_clock::time_point) {
  connection.quiesced();
}

Connection::Connection(std::shared_ptr<ConnectionCore> core) : core_(std::move(core)) {
  core_->attach(*this);
}

Connection::~Connection() {
  core_->close();
}

Result<std::unique_ptr<Connection>> Connection::connect(Loop& loop, const SocketAddress& peer,
                                                        const ConnectionOptions& options,
                                                        ConnectionHandler& handler,
                                                        const std::optional<SocketAddress>& local) {
  if (peer.port() == 0) return fail(ErrorCode::InvalidArgument, "connect needs an address with a port");
  if (local && local->family() != peer.family())
    return fail(ErrorCode::InvalidArgument, "IPv4 and IPv6 do not reach each other");
  if (auto checked = check_options(options); !checked) return tl::unexpected(checked.error());
  std::optional<SocketAddress> from;
  if (local) from = local->with_port(0);
  return connect_on(loop.core().hub(), peer, options, handler, from);
}

std::unique_ptr<Connection> connect_on(conn::Hub& hub, const SocketAddress& peer,
                                       const ConnectionOptions& options, ConnectionHandler& handler,
                                       const std::optional<SocketAddress>& from) {
  ConnectionCore::Peer other;
  other.service = peer;
  auto core = std::make_shared<ConnectionCore>(hub, conn::Role::Connector, hub.random().number(), options,
                                               handler, other, from);
  auto connection = ConnectionCore::handle(core);
  core->start();
  return connection;
}

ConnectionState Connection::state() const {
  return core_->state();
}
std::uint64_t Connection::id() const {
  return core_->id();
}
std::uint32_t Connection::epoch() const {
  return core_->epoch();
}
SocketAddress Connection::local() const {
  return core_->local();
}
SocketAddress Connection::peer() const {
  return core_->peer();
}
std::span<const std::byte> Connection::peer_private_data() const {
  return core_->peer_private_data();
}
std::chrono::milliseconds Connection::last_blackout() const {
  return core_->last_blackout();
}
ibv_qp* Connection::queue_pair() const {
  return core_->queue_pair();
}
ibv_pd* Connection::protection_domain() const {
  return core_->protection_domain();
}
Result<void> Connection::post_send(ibv_send_wr& first) {
  return core_->post_send(first);
}
Result<void> Connection::post_receive(ibv_recv_wr& first) {
  return core_->post_receive(first);
}
Result<std::unique_ptr<Region>> Connection::register_memory(void* address, std::size_t length, int access) {
  return core_->register_memory(address, length, access);
}
void Connection::quiesced() {
  core_->quiesced();
}
void Connection::restart() {
  core_->restart();
}
void Connection::close() {
  core_->close();
}

void Connection::count_resent(std::uint64_t messages) {
  core_->count_resent(messages);
}

}  // namespace rdmove::failover
