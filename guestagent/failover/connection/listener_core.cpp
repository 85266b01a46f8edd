#include "guestagent/failover/connection/listener_core.hpp"

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/loop_core.hpp"
#include "rdmove/loop.hpp"

namespace rdmove::failover {
namespace {
constexpr conn::Milliseconds retry_after{
    100};  // costs two system calls; nothing tells of an RDMA device on an address
}

Result<void> check_options(const ConnectionOptions& options) {
  if (options.private_data.size() > conn::application_bytes)
    return fail(ErrorCode::TooLarge, "private data has at most 16 bytes");
  if (options.queues.send_depth == 0 || options.queues.receive_depth == 0)
    return fail(ErrorCode::InvalidArgument, "a queue has at least one place");
  if (options.ack_timeout > 31 || options.retry_count > 7)
    return fail(ErrorCode::InvalidArgument, "ack_timeout is at most 31, retry_count at most 7");
  if (options.give_up_after.count() <= 0 || options.keepalive.count() < 0)
    return fail(ErrorCode::InvalidArgument, "give_up_after must be positive, and keepalive not negative");
  return {};
}

ListenerCore::ListenerCore(conn::Hub& hub, const SocketAddress& address, ListenerHandler& handler)
    : hub_(&hub), address_(address), handler_(handler), retry_(hub.timers()) {
  hub.add(*this);
}

ListenerCore::~ListenerCore() {
  if (hub_) hub_->remove(*this);
}

Result<void> ListenerCore::listen() {
  auto made = hub_->open().and_then([this] { return hub_->make_endpoint(*this); });
  if (!made) return tl::unexpected(made.error());
  auto endpoint = std::move(*made);
  auto done = endpoint->bind(address_).and_then([&] { return endpoint->listen(hub_->backlog()); });
  if (!done) {
    hub_->retire(std::move(endpoint));
    return done;
  }
  endpoint_ = std::move(endpoint);
  address_ = endpoint_->local();
  hub_->devices().came(endpoint_->device(), endpoint_->number());
  hub_->listen_for_first_calls(endpoint_->number(), *this);
  return {};
}

void ListenerCore::keep_trying() {
  is_trying_ = !listen();
  if (is_trying_) retry_.set(hub_->now() + retry_after, [this] { keep_trying(); });
}

void ListenerCore::close() {
  retry_.cancel();
  is_trying_ = false;
  if (!hub_ || !endpoint_) return;
  hub_->stop_first_calls(endpoint_->number());
  hub_->retire(std::move(endpoint_));
}

void ListenerCore::loop_ended() {
  close();
  retry_.cancel();
  hub_ = nullptr;
}

void ListenerCore::cm_event(conn::CmEvent& event) {
  if (event.kind != conn::CmEventKind::DeviceRemoval || !endpoint_) return;
  const auto self = shared_from_this();
  const auto device = endpoint_->device();
  close();
  hub_->devices().removed(device);
  is_trying_ = true;
  retry_.set(hub_->now() + retry_after, [this] { keep_trying(); });
}

void ListenerCore::first_call(conn::CmEvent& event, const conn::Hello& hello) {
  const auto self = shared_from_this();
  auto& hub = *hub_;
  if (hub.is_held()) return hub.refuse(std::move(event.incoming), conn::RefusalCode::Busy);
  // Nobody's: the first is 1. The application would wait for a call that goes on.
  if (hello.epoch == 0) return hub.refuse(std::move(event.incoming), conn::RefusalCode::StaleEpoch);
  ConnectionRequest::Answer answer{hub, event.incoming->peer(), event.incoming->local(), hello, nullptr};
  ConnectionRequest request(answer);
  handler_.requested(request);
  if (!answer.accepted || answer.accepted->state() == ConnectionState::Gone)
    return hub.refuse(std::move(event.incoming), conn::RefusalCode::Refused);
  answer.accepted->called(event, hello);
}

SocketAddress ConnectionRequest::peer() const {
  return answer_.peer;
}

std::span<const std::byte> ConnectionRequest::private_data() const {
  return answer_.hello.application;
}

Result<std::unique_ptr<Connection>> ConnectionRequest::accept(const ConnectionOptions& options,
                                                              ConnectionHandler& handler) {
  if (answer_.accepted || answer_.rejected)
    return fail(ErrorCode::InvalidArgument, "this request is answered already");
  if (auto checked = check_options(options); !checked) return tl::unexpected(checked.error());
  ConnectionCore::Peer peer;
  peer.service = answer_.peer;
  peer.token = answer_.hello.token;
  peer.incarnation = answer_.hello.incarnation;
  answer_.accepted = std::make_shared<ConnectionCore>(
      answer_.hub, conn::Role::Acceptor, answer_.hello.connection, options, handler, peer, answer_.local);
  auto connection = ConnectionCore::handle(answer_.accepted);
  answer_.accepted->start();
  return connection;
}

void ConnectionRequest::reject() {
  answer_.rejected = true;
}

Listener::Listener(std::shared_ptr<ListenerCore> core) : core_(std::move(core)) {}

Listener::~Listener() {
  core_->close();
}

Result<std::unique_ptr<Listener>> Listener::listen(Loop& loop, const SocketAddress& address,
                                                   ListenerHandler& handler, AddressPolicy policy) {
  auto core = std::make_shared<ListenerCore>(loop.core().hub(), address, handler);
  std::unique_ptr<Listener> listener(new Listener(core));
  auto done = core->listen();
  if (done) return listener;
  const bool may_come =
      done.error().code == ErrorCode::AddressNotAvailable || done.error().code == ErrorCode::NoDevice;
  if (policy == AddressPolicy::MustExist || !may_come) return tl::unexpected(done.error());
  core->keep_trying();
  return listener;
}

SocketAddress Listener::address() const {
  return core_->address();
}

bool Listener::is_listening() const {
  return core_->is_listening();
}

}  // namespace rdmove::failover
