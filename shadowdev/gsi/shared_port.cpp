#include "shadowdev/gsi/shared_port.hpp"

#include <fmt/format.h>

#include <set>

#include "shadowdev/gsi/port_desk.hpp"

namespace rdmove::gsi {
namespace {

void sooner(std::optional<TimePoint>& next, const std::optional<TimePoint>& other) {
  if (other && (!next || *other < *next)) next = other;
}

}  // namespace

SharedPort::SharedPort(const PortOptions& options, const Timekeeper& timekeeper)
    : options_(options),
      timekeeper_(timekeeper),
      outgoing_(options.functions.outgoing, options.own_outstanding),
      incoming_(options.functions.incoming, 0),
      multicast_kind_(options.gid),
      membership_desk_(std::make_unique<Desk>(*this, true)),
      subscription_desk_(std::make_unique<Desk>(*this, false)),
      memberships_(multicast_kind_, options.multicast, *membership_desk_),
      subscribed_(inform_kind_, options.subscriptions, *subscription_desk_) {
  const GidOwners& owners = *this;
  if (options.cm == CmStrategy::ByGid) {
    cm_ = std::make_unique<CmByGid>(owners);
  } else {
    cm_ = std::make_unique<CmByCommId>(owners, options.connections, options.seed);
  }
}

SharedPort::~SharedPort() = default;

std::optional<FunctionId> SharedPort::owner(const Gid& gid) const {
  const auto at = gids_.find(gid);
  return at == gids_.end() ? std::nullopt : std::optional(at->second);
}

SharedPort::Function* SharedPort::find(FunctionId function) {
  return functions_[index_of(function)].get();
}

bool SharedPort::has_function(FunctionId function) const {
  return functions_[index_of(function)] != nullptr;
}

bool SharedPort::owns(const Function& function, const Gid& gid) {
  return std::find(function.gids.begin(), function.gids.end(), gid) != function.gids.end();
}

Transactions& SharedPort::transactions(FunctionId function) {
  auto& own = transactions_[index_of(function)];
  if (!own) {
    const std::uint16_t slots =
        function == kPortItself ? options_.own_outstanding : options_.functions.outstanding;
    own = std::make_unique<Transactions>(function, slots, options_.transaction_lifetime,
                                         static_cast<std::uint16_t>(options_.seed));
  }
  return *own;
}

Result<void> SharedPort::check_new(FunctionId function, const std::vector<Gid>& gids) const {
  const auto number = static_cast<unsigned>(function);
  if (function == kPortItself)
    return problem(ProblemCode::BadInput,
                   fmt::format("Function {} is the port's own number. Use 0 to 254.", number));
  if (gids.empty() || gids.size() > options_.functions.gids) {
    return problem(ProblemCode::BadInput, fmt::format("Function {} needs 1 to {} GIDs, and has {}.", number,
                                                      options_.functions.gids, gids.size()));
  }
  if (has_function(function)) {
    return problem(
        ProblemCode::Conflict,
        fmt::format("Function {} is on this port already. Take it out, or choose another number.", number));
  }
  std::set<Gid> seen;
  for (const Gid& gid : gids) {
    if (gid.is_zero() || gid.is_multicast())
      return problem(ProblemCode::BadInput,
                     fmt::format("{} is no GID that a function can have.", gid.text()));
    if (gids_.contains(gid) || !seen.insert(gid).second) {
      return problem(
          ProblemCode::Conflict,
          fmt::format("The GID {} has an owner on this port. Take that function out first.", gid.text()));
    }
  }
  return {};
}

Result<void> SharedPort::add_function(FunctionId function, const std::vector<Gid>& gids) {
  if (auto good = check_new(function, gids); !good) return good;
  auto fresh = std::make_unique<Function>();
  fresh->id = function;
  fresh->gids = gids;
  functions_[index_of(function)] = std::move(fresh);
  counters_[index_of(function)] = Counters{};
  for (const Gid& gid : gids) gids_[gid] = function;
  return {};
}

Result<void> SharedPort::remove_function(FunctionId function) {
  Function* gone = find(function);
  if (gone == nullptr) {
    return problem(ProblemCode::NotFound,
                   fmt::format("Function {} is not on this port.", static_cast<unsigned>(function)));
  }
  for (const Gid& gid : gone->gids) gids_.erase(gid);
  functions_[index_of(function)].reset();
  transactions(function).clear();
  outgoing_.drop(function);
  incoming_.drop(function);
  cm_->forget(function);
  memberships_.forget(function);
  subscribed_.forget(function);
  std::erase_if(events_, [&](const PortEvent& event) { return event.function == function; });
  return {};
}

Result<FunctionState> SharedPort::take_out(FunctionId function) {
  if (function == kPhysicalFunction)
    return problem(ProblemCode::BadInput, "The physical function is the port itself and stays where it is.");
  FunctionState state;
  if (has_function(function)) {
    state.memberships = memberships_.held_by(function);
    state.subscriptions = subscribed_.held_by(function);
    state.connections = cm_->connections(function, timekeeper_.now());
  }
  if (auto removed = remove_function(function); !removed) return tl::unexpected(removed.error());
  return state;
}

Result<void> SharedPort::put_in(FunctionId function, const std::vector<Gid>& gids,
                                const FunctionState& state) {
  if (auto good = check_new(function, gids); !good) return good;
  const auto too_many = [&](const char* what, std::size_t is, std::size_t limit) {
    return problem(
        ProblemCode::TooLarge,
        fmt::format("Function {} comes with {} {}, and this port allows {}. Raise the limit or choose "
                    "another port.",
                    static_cast<unsigned>(function), is, what, limit));
  };
  if (state.memberships.size() > options_.multicast.records_per_function)
    return too_many("memberships", state.memberships.size(), options_.multicast.records_per_function);
  if (state.subscriptions.size() > options_.subscriptions.records_per_function)
    return too_many("subscriptions", state.subscriptions.size(), options_.subscriptions.records_per_function);
  if (state.connections.size() > options_.connections.connections_per_function)
    return too_many("connections", state.connections.size(), options_.connections.connections_per_function);
  if (auto added = add_function(function, gids); !added) return added;
  cm_->adopt(function, state.connections, timekeeper_.now());
  memberships_.hold(function, state.memberships);
  subscribed_.hold(function, state.subscriptions);
  return {};
}

void SharedPort::tick() {
  const TimePoint now = timekeeper_.now();
  for (auto& own : transactions_) {
    if (own) expired_ += own->expire(now);
  }
  memberships_.tick(now);
  subscribed_.tick(now);
  cm_->expire(now);
}

std::optional<TimePoint> SharedPort::next_deadline() const {
  std::optional<TimePoint> next = cm_->next_deadline();
  for (const auto& own : transactions_) {
    if (own) sooner(next, own->next_deadline());
  }
  sooner(next, memberships_.next_deadline());
  sooner(next, subscribed_.next_deadline());
  return next;
}

void SharedPort::subnet_manager_changed(Lid lid, std::uint8_t service_level) {
  options_.subnet_manager = lid;
  options_.subnet_manager_service_level = service_level;
  memberships_.ask_again();
  subscribed_.ask_again();
}

std::optional<Datagram> SharedPort::to_wire() {
  auto next = outgoing_.pop();
  if (!next) return std::nullopt;
  return std::move(next->datagram);
}

std::optional<FairQueue::Next> SharedPort::to_functions() {
  return incoming_.pop();
}

std::optional<Datagram> SharedPort::to_function(FunctionId function) {
  return incoming_.pop(function);
}

std::optional<PortEvent> SharedPort::next_event() {
  if (events_.empty()) return std::nullopt;
  PortEvent event = events_.front();
  events_.pop_front();
  return event;
}

const Counters& SharedPort::counters(FunctionId function) const {
  return counters_[index_of(function)];
}

std::size_t SharedPort::outstanding(FunctionId function) const {
  const auto& own = transactions_[index_of(function)];
  return own ? own->open_count() : 0;
}

JoinState SharedPort::membership(const Gid& group) const {
  return memberships_.port_state(MulticastKind::key(group));
}

std::size_t SharedPort::subscriptions() const {
  std::size_t count = 0;
  subscribed_.for_each([&](const RecordBytes&, const SharedRecords::Holders&) { ++count; });
  return count;
}

}  // namespace rdmove::gsi
