#include "coordinator/simulation/follow_stream.hpp"

#include "coordinator/simulation/coordinator_process.hpp"

namespace rdmove::simulation {
namespace {

constexpr Duration kLookForCaller = milliseconds(500);
constexpr Duration kKeepalive = seconds(15);  ///< as the daemon has gRPC's: 10 s, and 5 s for the answer

Error unreachable() {
  return {ErrorCode::kUnavailable, "follow the arrival", "the partner does not answer", ""};
}

}  // namespace

FollowStream::FollowStream(World& world, Host& client, MigrationId id,
                           std::function<void(std::function<void()>)> on_client_loop,
                           std::function<void(ArrivalReport)> report, std::function<void(Error)> broken)
    : world_(world),
      client_(client),
      server_(world.other(client)),
      id_(std::move(id)),
      on_client_loop_(std::move(on_client_loop)),
      report_(std::move(report)),
      broken_(std::move(broken)) {}

void FollowStream::open() {
  const Duration trip = world_.random.between(Duration(100), world_.network.slowest);
  world_.agenda.after(trip, [self = shared_from_this()] { self->opened(); });
}

void FollowStream::opened() {
  if (!world_.network.openBothWays()) {
    return world_.agenda.after(seconds(5), [self = shared_from_this()] { self->end(unreachable()); });
  }
  if (!server_.coordinator) return end(unreachable());
  server_life_ = server_.coordinator->life();
  server_.coordinator->post([self = shared_from_this()] {
    self->subscription_ = self->server_.coordinator->bulletin().subscribe([self](const Update& update) {
      if (update.record.id != self->id_ || update.record.role != Role::kArrival) return;
      self->told_ = true;
      self->server_.coordinator->post([self] { self->push(); });
    });
    self->push();
  });
  world_.agenda.after(kLookForCaller, [self = shared_from_this()] { self->tick(); });
}

bool FollowStream::serverThere() const {
  return !server_life_.expired();
}

void FollowStream::push() {
  if (over_) return;
  auto report = server_.coordinator->coordinator().report(id_);
  if (!report) {
    leaveServer();
    return end(report.error());
  }
  const bool last = isFinished(report->outcome);
  deliver(std::move(*report));
  if (!last) return;
  leaveServer();
  end({ErrorCode::kInternal, "follow the arrival", "it is over", ""});
}

/// In order, and each a whole report: what waits is replaced by what is newer.
void FollowStream::deliver(ArrivalReport report) {
  if (!world_.network.openBothWays()) {
    waiting_ = std::move(report);
    return;
  }
  waiting_.reset();
  toClient([self = shared_from_this(), report = std::move(report)] { self->report_(report); });
}

void FollowStream::toClient(std::function<void()> what) {
  last_delivery_ = std::max(last_delivery_, world_.agenda.now()) +
                   world_.random.between(Duration(100), world_.network.slowest);
  world_.agenda.at(last_delivery_, [self = shared_from_this(), what = std::move(what)] {
    if (!self->client_there_) return;
    self->on_client_loop_([self, what] {
      if (self->client_there_) what();
    });
  });
}

void FollowStream::tick() {
  if (over_) return;
  const bool open = world_.network.openBothWays();
  if (open) {
    stalled_since_ = Duration(-1);
  } else if (stalled_since_ < Duration(0)) {
    stalled_since_ = world_.agenda.now();
  }
  const bool stalled = !open && world_.agenda.now() - stalled_since_ >= kKeepalive;
  if (stalled || (open && (!serverThere() || !client_there_))) {
    if (serverThere()) server_.coordinator->post([self = shared_from_this()] { self->leaveServer(); });
    return end(unreachable());
  }
  if (open && waiting_) deliver(std::move(*waiting_));
  if (!std::exchange(told_, false) && serverThere())
    server_.coordinator->post(
        [self = shared_from_this()] { self->server_.coordinator->coordinator().renew(self->id_); });
  world_.agenda.after(kLookForCaller, [self = shared_from_this()] { self->tick(); });
}

void FollowStream::leaveServer() {
  if (serverThere() && subscription_ != 0) server_.coordinator->bulletin().unsubscribe(subscription_);
  subscription_ = 0;
}

void FollowStream::end(const Error& error) {
  if (std::exchange(over_, true)) return;
  toClient([self = shared_from_this(), error] { self->broken_(error); });
}

}  // namespace rdmove::simulation
