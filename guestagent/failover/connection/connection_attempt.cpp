#include <utility>

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/region_core.hpp"

namespace rdmove::failover {

using conn::CallKind;
using conn::CmEventKind;
using conn::Failure;
using conn::RefusalCode;

namespace {

constexpr conn::Milliseconds resolve_limit{2'000};  // the attempt's own time ends before
constexpr int rejected_no_listener = 8;             // IBA 12.6.7.2, "invalid service ID"
constexpr int rejected_stale = 10;
constexpr int rejected_by_consumer = 28;

bool is_no_way(ErrorCode code) {
  return code == ErrorCode::AddressNotAvailable || code == ErrorCode::NoDevice;
}

}  // namespace

void ConnectionCore::call(conn::Target target) {
  target_ = target;
  const auto port = target == conn::Target::Service ? peer_.service.port() : peer_.recall_port;
  admitted_ = false;
  entering_ = true;
  ticket_.reset();
  ticket_ = hub_->gate().enter(peer_.service.with_port(port).text(), [this] {
    admitted_ = true;
    if (!entering_) begin_attempt();
  });
  entering_ = false;
  if (admitted_) begin_attempt();
}

void ConnectionCore::begin_attempt() {
  const auto self = shared_from_this();
  const auto port = target_ == conn::Target::Service ? peer_.service.port() : peer_.recall_port;
  const auto to = peer_.service.with_port(port);
  policy_.attempt_begun(hub_->now(), hub_->gate().in_flight(to.text()));
  call_kind_ = peer_.is_known ? CallKind::Recall : CallKind::First;
  auto made = hub_->open().and_then([this] { return hub_->make_endpoint(*this); });
  if (!made) return abandon(Failure::NoWay, made.error().message);
  endpoint_ = std::move(*made);
  stage_ = Stage::Resolving;
  std::optional<SocketAddress> from;
  if (local_) from = local_->with_port(0);
  if (auto begun = endpoint_->resolve_address(from, to, resolve_limit); !begun)
    return abandon(is_no_way(begun.error().code) ? Failure::NoWay : Failure::NoAnswer, begun.error().message);
  drive();
}

void ConnectionCore::take_attempt_down() {
  ticket_.reset();
  retire_endpoint();
}

void ConnectionCore::abandon(Failure failure, const std::string& why) {
  last_trouble_ = why;
  take_attempt_down();
  policy_.attempt_failed(hub_->now(), failure);
  drive();
}

void ConnectionCore::cm_event(conn::CmEvent& event) {
  if (!endpoint_ || event.endpoint != endpoint_->number()) return;
  const auto self = shared_from_this();
  switch (event.kind) {
    case CmEventKind::AddressResolved:
      return address_resolved();
    case CmEventKind::RouteResolved:
      stage_ = Stage::Routed;
      return place_call();
    case CmEventKind::Established:
      return answered(event);
    case CmEventKind::Rejected:
      return rejected(event);
    case CmEventKind::Disconnected:
      if (stage_ == Stage::Leaving) return let_go();
      if (state_ == ConnectionState::Up) return lose(DownReason::Disconnected);
      return abandon(Failure::Refused, "disconnected before it was connected");
    case CmEventKind::DeviceRemoval: {
      last_device_ = endpoint_->device();
      hub_->devices().came(last_device_, endpoint_->number());
      hub_->devices().removed(last_device_);
      return device_left(last_device_);  // again, in case the table had heard it before this one came
    }
    case CmEventKind::Failed: {
      const bool no_way = stage_ == Stage::Resolving && event.status < 0;
      return abandon(no_way ? Failure::NoWay : Failure::NoAnswer,
                     "no way to " + peer_.service.text() + " (status " + std::to_string(event.status) + ")");
    }
    default:
      return;
  }
}

void ConnectionCore::address_resolved() {
  last_device_ = endpoint_->device();
  hub_->devices().came(last_device_, endpoint_->number());
  policy_.progressed(hub_->now());
  stage_ = Stage::Routing;
  if (auto begun = endpoint_->resolve_route(resolve_limit); !begun)
    return abandon(Failure::NoWay, begun.error().message);
  drive();
}

void ConnectionCore::old_queue_gone(std::uint64_t generation) {
  if (generation != generation_ || state_ == ConnectionState::Gone) return;
  const auto self = shared_from_this();
  if (--old_queues_ != 0) return;
  if (stage_ == Stage::Routed) return place_call();
  if (stage_ == Stage::Parked) return answer();
}

// A queue pair on the endpoint's device, with the owner's memory and receives. False: it was abandoned, or the owner has
// closed.
bool ConnectionCore::open_queue() {
  auto device = hub_->devices().device_for(*endpoint_);
  auto made = device.and_then([this](const auto& opened) { return endpoint_->make_queue(opened, options_.queues); });
  if (!made) {
    abandon(is_no_way(made.error().code) ? Failure::NoWay : Failure::Refused, made.error().message);
    return false;
  }
  device_ = *device;
  endpoint_->arm();
  for (RegionCore* region : regions_) {
    auto registered = region->register_on(*endpoint_);
    if (registered) continue;
    if (is_no_way(registered.error().code))
      abandon(Failure::NoWay, registered.error().message);
    else
      end(GoneReason::Incompatible, "the device does not take the memory: " + registered.error().message);
    return false;
  }
  const auto number = endpoint_->number();
  handler_->opened(*handle_);
  return endpoint_ && endpoint_->number() == number;
}

conn::Hello ConnectionCore::hello() const {
  conn::Hello out;
  out.kind = call_kind_;
  out.moved = policy_.moved();
  out.connection = id_;
  out.token = call_kind_ == CallKind::First ? own_token_ : peer_.token;
  out.incarnation = hub_->incarnation();
  out.epoch = epoch_;
  out.recall_port = hub_->recall_port();
  out.backlog = hub_->backlog();
  if (call_kind_ == CallKind::First) out.application = options_.private_data;
  return out;
}

conn::CallWords ConnectionCore::words(const std::vector<std::byte>& data, std::uint8_t remote_reads) const {
  return {data, options_.retry_count, options_.ack_timeout, remote_reads};
}

void ConnectionCore::place_call() {
  policy_.progressed(hub_->now());
  if (old_queues_ != 0) return drive();
  if (!open_queue()) return;
  epoch_ = policy_.next_epoch();
  const auto data = encode(hello());
  stage_ = Stage::Calling;
  policy_.call_sent();
  if (auto sent = endpoint_->connect(words(data, options_.remote_reads)); !sent)
    return abandon(is_no_way(sent.error().code) ? Failure::NoWay : Failure::NoAnswer, sent.error().message);
  drive();
}

bool ConnectionCore::is_called_by(const conn::Hello& hello) const {
  if (hello.kind == CallKind::Recall) return hello.token == own_token_ && hello.incarnation == peer_.incarnation;
  // A first call again: the caller has not heard our answer.
  return role_ == conn::Role::Acceptor && hello.token == peer_.token && hello.incarnation == peer_.incarnation;
}

void ConnectionCore::called(conn::CmEvent& event, const conn::Hello& hello) {
  const auto self = shared_from_this();
  switch (policy_.judge_call({hello.epoch, peer_.token, hello.moved})) {
    case conn::Verdict::StaleEpoch:
      return hub_->refuse(std::move(event.incoming), RefusalCode::StaleEpoch);
    case conn::Verdict::Collision:
      return hub_->refuse(std::move(event.incoming), RefusalCode::Collision);
    case conn::Verdict::Busy:
      return hub_->refuse(std::move(event.incoming), RefusalCode::Busy);
    case conn::Verdict::Accept:
      break;
  }
  lose(DownReason::Replaced);
  if (state_ == ConnectionState::Gone) return hub_->refuse(std::move(event.incoming), RefusalCode::Closed);
  take_attempt_down();
  endpoint_ = std::move(event.incoming);
  hub_->adopt(*endpoint_, *this);
  last_device_ = endpoint_->device();
  call_kind_ = hello.kind;
  agreed_reads_ = std::min(options_.remote_reads, event.remote_reads);
  if (role_ == conn::Role::Acceptor && !local_) local_ = endpoint_->local();
  learn(hello);
  epoch_ = hello.epoch;
  policy_.call_accepted(hub_->now(), hello.epoch);
  stage_ = Stage::Parked;
  if (old_queues_ == 0) return answer();
  drive();
}

void ConnectionCore::answer() {
  if (!open_queue()) return;
  const auto data = encode(hello());
  stage_ = Stage::Answering;
  if (auto sent = endpoint_->accept(words(data, agreed_reads_)); !sent)
    return abandon(Failure::Refused, sent.error().message);
  drive();
}

void ConnectionCore::learn(const conn::Hello& hello) {
  if (hello.kind == CallKind::First) {
    peer_.token = hello.token;
    peer_.application = hello.application;
  }
  peer_.incarnation = hello.incarnation;
  peer_.recall_port = hello.recall_port;
  peer_.is_known = true;
  hub_->gate().learn(peer_.service.with_port(peer_.recall_port).text(), hello.backlog);
}

void ConnectionCore::answered(const conn::CmEvent& event) {
  if (stage_ == Stage::Answering) return established();
  if (stage_ != Stage::Calling) return;
  const auto hello = conn::decode_hello(event.private_data);
  if (!hello) return end(GoneReason::Incompatible, "what answered does not speak our protocol");
  const bool is_right = hello->connection == id_ && hello->kind == call_kind_ && hello->epoch == epoch_ &&
                        (call_kind_ == CallKind::First ||
                         (hello->token == own_token_ && hello->incarnation == peer_.incarnation));
  if (!is_right) return end(GoneReason::WrongPeer, "somebody else answered at " + peer_.service.text());
  learn(*hello);
  if (call_kind_ == CallKind::First) hub_->gate().learn(peer_.service.text(), hello->backlog);
  established();
}

void ConnectionCore::rejected(const conn::CmEvent& event) {
  if (const auto refusal = conn::decode_refusal(event.private_data)) return refused(*refusal);
  if (event.status == rejected_stale) return abandon(Failure::StaleConnection, "stale connection");
  if (event.status == rejected_no_listener)
    return abandon(Failure::NoListener, "nobody listens at " + peer_.service.text());
  if (event.status == rejected_by_consumer && !peer_.is_known)
    return end(GoneReason::Refused, peer_.service.text() + " rejects, and is not librdmove");
  abandon(Failure::Refused, "rejected (reason " + std::to_string(event.status) + ")");
}

void ConnectionCore::refused(const conn::Refusal& refusal) {
  switch (refusal.why) {
    case RefusalCode::Refused:
      if (!peer_.is_known) return end(GoneReason::Refused, "the application there refused");
      return abandon(Failure::Refused, "refused");
    case RefusalCode::Incompatible:
      return end(GoneReason::Incompatible, "the peer does not speak this version");
    case RefusalCode::Unknown:
      if (peer_.is_known && refusal.incarnation != peer_.incarnation)
        return end(GoneReason::PeerRestarted, "there is a new process at " + peer_.service.text());
      return end(GoneReason::PeerClosed, "the peer has closed");
    case RefusalCode::Closed:
      return end(GoneReason::PeerClosed, "the peer has closed");
    case RefusalCode::WrongToken:
      return end(GoneReason::WrongPeer, "the peer knows this connection as another's");
    case RefusalCode::StaleEpoch:
      return abandon(Failure::StaleEpoch, "an epoch that was seen");
    case RefusalCode::Collision:
      return abandon(Failure::Collision, "the calls crossed");
    case RefusalCode::Busy:
      return abandon(Failure::Busy, "the peer is busy");
  }
}

void ConnectionCore::established() {
  ticket_.reset();
  stage_ = Stage::Established;
  policy_.connected(hub_->now(), epoch_);
  policy_timer_.cancel();
  if (!local_) local_ = endpoint_->local().with_port(0);
  endpoint_->shorten_rnr_timer();
  const bool again = state_ == ConnectionState::Down;
  state_ = ConnectionState::Up;
  if (again) {
    ++failovers_;
    last_blackout_ = std::chrono::duration_cast<conn::Milliseconds>(hub_->now() - down_since_);
  }
  last_completion_ = hub_->now();
  keep_alive();
  const auto number = endpoint_->number();
  handler_->up(*handle_);
  if (endpoint_ && endpoint_->number() == number && std::exchange(early_completions_, false))
    hand_over(Handing::All);
}

}  // namespace rdmove::failover
