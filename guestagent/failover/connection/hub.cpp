#include "guestagent/failover/connection/hub.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <utility>

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/listener_core.hpp"

namespace rdmove::failover::conn {
namespace {

constexpr std::size_t most_recalls = 64;  // processes that are remembered to have called
constexpr std::chrono::seconds recall_is_old{10};

}  // namespace

Hub::Hub(const HubServices& services, std::uint16_t backlog)
    : services_(services),
      backlog_(backlog),
      incarnation_(services.random.number()),
      devices_(*this, services.poller) {}

Hub::~Hub() = default;

void Hub::end() {
  for_each([](ConnectionCore& connection) { connection.loop_ended(); });
  for (auto* listener : std::exchange(listeners_, {})) listener->loop_ended();
  devices_.end();
  services_.poller.remove(watch_);
  if (recall_listener_) services_.reaper.destroy(std::move(recall_listener_), {});
}

Result<void> Hub::open() {
  if (recall_listener_) return {};
  if (auto opened = services_.port.open(); !opened) return opened;
  if (watch_ == Poller::Watch::none)
    watch_ = services_.poller.add(services_.port.fd(), [this] { take_events(); });
  return open_recall_listener();
}

// On no address, so it is on no device: it survives removals, and accepts on what comes. IPv6's wildcard
// takes IPv4, too.
Result<void> Hub::open_recall_listener() {
  Result<void> done;
  for (const char* wildcard : {"::", "0.0.0.0"}) {
    auto endpoint = make_endpoint(*this);
    if (!endpoint) return tl::unexpected(endpoint.error());
    done = (*endpoint)->bind(*SocketAddress::parse(wildcard, 0));
    if (done) done = (*endpoint)->listen(backlog_);
    if (done) {
      recall_port_ = (*endpoint)->local().port();
      recall_listener_ = std::move(*endpoint);
      return {};
    }
    retire(std::move(*endpoint));
  }
  return done;
}

Result<std::unique_ptr<Endpoint>> Hub::make_endpoint(EndpointOwner& owner) {
  auto endpoint = services_.port.make_endpoint();
  if (endpoint) adopt(**endpoint, owner);
  return endpoint;
}

void Hub::adopt(const Endpoint& endpoint, EndpointOwner& owner) {
  owners_[endpoint.number()] = &owner;
}

EndpointOwner* Hub::owner_of(EndpointNumber number) const {
  const auto owner = owners_.find(number);
  return owner == owners_.end() ? nullptr : owner->second;
}

std::unique_ptr<Endpoint> Hub::disown(std::unique_ptr<Endpoint> endpoint) {
  owners_.erase(endpoint->number());
  return endpoint;
}

void Hub::retire(std::unique_ptr<Endpoint> endpoint, Reaper::Done done) {
  const auto number = endpoint->number();
  const auto device = endpoint->device();
  services_.reaper.destroy(disown(std::move(endpoint)), [this, number, device, done = std::move(done)] {
    if (done) done();
    devices_.went(device, number);
  });
}

void Hub::refuse(std::unique_ptr<Endpoint> incoming, RefusalCode why) {
  incoming->reject(encode(Refusal{why, incarnation_}));
  retire(std::move(incoming));
}

void Hub::add(ConnectionCore& connection) {
  connections_.emplace(connection.id(), &connection);
  changed();
}

void Hub::remove(ConnectionCore& connection) {
  const auto [first, last] = connections_.equal_range(connection.id());
  for (auto place = first; place != last; ++place) {
    if (place->second != &connection) continue;
    past_.failovers += connection.failovers();
    past_.resent += connection.resent();
    past_.longest_blackout = std::max(past_.longest_blackout, connection.last_blackout());
    connections_.erase(place);
    return changed();
  }
}

// Over a copy that keeps them alive: a callback may close any of them, or make others.
void Hub::for_each(const std::function<void(ConnectionCore&)>& visit) {
  std::vector<std::shared_ptr<ConnectionCore>> all;
  all.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) all.push_back(connection->shared_from_this());
  for (const auto& connection : all) visit(*connection);
}

bool Hub::has_any(const std::function<bool(const ConnectionCore&)>& holds) const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [&](const auto& entry) { return holds(*entry.second); });
}

TrafficReport Hub::report() const {
  TrafficReport report;
  report.failovers = past_.failovers;
  report.resent = past_.resent;
  bool was_any_away = false;
  for (const auto& [id, connection] : connections_) {
    ++report.connections;
    report.up += connection->state() == ConnectionState::Up ? 1U : 0U;
    report.failovers += connection->failovers();
    report.longest_blackout = std::max(report.longest_blackout, connection->last_blackout());
    report.resent += connection->resent();
    was_any_away = was_any_away || connection->failovers() > 0;
  }
  if (!was_any_away) report.longest_blackout = past_.longest_blackout;
  return report;
}

void Hub::listen_for_first_calls(EndpointNumber listener, FirstCallTaker& taker) {
  takers_[listener] = &taker;
}

void Hub::take_events() {
  while (auto event = services_.port.take_event()) {
    if (event->kind == CmEventKind::ConnectRequest)
      requested(*event);
    else if (auto* owner = owner_of(event->endpoint))
      owner->cm_event(*event);
  }
}

void Hub::cm_event(CmEvent&) {}

void Hub::requested(CmEvent& event) {
  devices_.came(event.incoming->device(), event.incoming->number());
  const auto hello = decode_hello(event.private_data);
  if (!hello) return refuse(std::move(event.incoming), RefusalCode::Incompatible);
  // Here, before an application is asked: it would wait for a call that never counts.
  if (hello->epoch == 0 || hello->epoch > largest_epoch)
    return refuse(std::move(event.incoming), RefusalCode::StaleEpoch);
  const auto [first, last] = connections_.equal_range(hello->connection);
  bool is_known = false;  // a connector of this loop may be the very caller
  for (auto place = first; place != last; ++place) {
    if (place->second->is_called_by(*hello)) {
      if (hello->kind == CallKind::Recall) note_recall(hello->incarnation);
      return place->second->called(event, *hello);
    }
    is_known = is_known || hello->kind == CallKind::Recall || place->second->is_acceptor();
  }
  if (is_known) return refuse(std::move(event.incoming), RefusalCode::WrongToken);
  const auto taker = takers_.find(event.endpoint);
  if (hello->kind == CallKind::First && taker != takers_.end())
    return taker->second->first_call(event, *hello);
  refuse(std::move(event.incoming),
         hello->kind == CallKind::First ? RefusalCode::Refused : RefusalCode::Unknown);
}

void Hub::note_recall(std::uint64_t incarnation) {
  const auto now = services_.clock.now();
  if (recalls_.size() >= most_recalls)
    std::erase_if(recalls_, [now](const auto& recall) { return now - recall.second > recall_is_old; });
  if (recalls_.size() < most_recalls) recalls_[incarnation] = now;
}

std::optional<Time> Hub::last_recall_of(std::uint64_t incarnation) const {
  const auto recall = recalls_.find(incarnation);
  if (recall == recalls_.end()) return std::nullopt;
  return recall->second;
}

void Hub::device_left(DeviceNumber device) {
  for_each([device](ConnectionCore& connection) { connection.device_left(device); });
}

void Hub::device_failed(DeviceNumber device) {
  for_each([device](ConnectionCore& connection) { connection.device_failed(device); });
}

void Hub::way_appeared() {
  const auto listeners = listeners_;
  for (auto* listener : listeners) listener->way_appeared();
  for_each([](ConnectionCore& connection) { connection.way_appeared(); });
}

void Hub::hold() {
  held_ = true;
  changed();
  for_each([](ConnectionCore& connection) { connection.hold(); });
}

void Hub::unhold() {
  if (!std::exchange(held_, false)) return;
  for_each([](ConnectionCore& connection) { connection.unhold(); });
}

void Hub::let_go() {
  services_.port.let_go_of_devices();
}

}  // namespace rdmove::failover::conn
