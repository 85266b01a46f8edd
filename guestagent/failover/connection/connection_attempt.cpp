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

}  // namespace

const std::string& ConnectionCore::lane(std::uint16_t port) {
  if (lane_.empty() || port != lane_port_) {
    lane_ = peer_.service.with_port(port).text();
    lane_port_ = port;
  }
  return lane_;
}

void ConnectionCore::call(conn::Target target) {
  target_ = target;
  const auto port = target == conn::Target::Service ? peer_.service.port() : peer_.recall_port;
  admitted_ = false;
  entering_ = true;
  ticket_.reset();
  ticket_ = hub_->gate().enter(lane(port), [this] {
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
  policy_.attempt_begun(hub_->now(), hub_->gate().in_flight(lane(port)));
  call_kind_ = peer_.is_known ? CallKind::Recall : CallKind::First;
  auto made = hub_->open().and_then([this] { return hub_->make_endpoint(*this); });
  if (!made) return abandon(Failure::NoWay, made.error().message);
  endpoint_ = std::move(*made);
  stage_ = Stage::Resolving;
  std::optional<SocketAddress> from;
  if (local_) from = local_->with_port(0);
  if (auto begun = endpoint_->resolve_address(from, to, resolve_limit); !begun)
    return abandon(conn::is_no_way(begun.error().code) ? Failure::NoWay : Failure::NoAnswer,
                   begun.error().message);
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

void ConnectionCore::place_call() {
  policy_.progressed(hub_->now());
  if (old_queues_ != 0) return drive();
  if (!open_queue()) return;
  epoch_ = policy_.next_epoch();
  heard_.clear();
  say_greeting(heard_);
  const auto data = encode(hello());
  stage_ = Stage::Calling;
  policy_.call_sent();
  if (auto sent = endpoint_->connect(words(data, options_.remote_reads)); !sent)
    return abandon(conn::is_no_way(sent.error().code) ? Failure::NoWay : Failure::NoAnswer,
                   sent.error().message);
  drive();
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
  if (call_kind_ == CallKind::First) hub_->gate().learn(lane(peer_.service.port()), hello->backlog);
  if (!said_.empty()) heard_ = hello->application;
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

}  // namespace rdmove::failover
