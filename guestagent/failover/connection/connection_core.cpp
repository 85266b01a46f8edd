#include "guestagent/failover/connection/connection_core.hpp"

#include <utility>

#include "guestagent/failover/connection/region_core.hpp"

namespace rdmove::failover {

using conn::Loss;

ConnectionCore::ConnectionCore(conn::Hub& hub, conn::Role role, std::uint64_t id,
                               const ConnectionOptions& options, ConnectionHandler& handler, Peer peer,
                               std::optional<SocketAddress> local)
    : hub_(&hub),
      role_(role),
      id_(id),
      own_token_(hub.random().number()),
      options_(options),
      handler_(&handler),
      peer_(std::move(peer)),
      local_(std::move(local)),
      policy_({role, options.give_up_after, own_token_}, hub.random()),
      policy_timer_(hub.timers()),
      keepalive_timer_(hub.timers()) {
  hub.add(*this);
}

ConnectionCore::~ConnectionCore() = default;

std::unique_ptr<Connection> ConnectionCore::handle(std::shared_ptr<ConnectionCore> core) {
  return std::unique_ptr<Connection>(new Connection(std::move(core)));
}

void ConnectionCore::attach(Connection& handle) {
  handle_ = &handle;
}

void ConnectionCore::start() {
  down_since_ = hub_->now();
  policy_.start(hub_->now());
  if (hub_->is_held()) policy_.hold(hub_->now());
  // From the loop: the owner hears nothing before connect() has returned.
  policy_timer_.set(hub_->now(), [this] { drive(); });
}

// Does what the policy wants now, and comes back when it wants the next.
void ConnectionCore::drive() {
  const auto self = shared_from_this();
  while (state_ != ConnectionState::Gone) {
    using Kind = conn::RecallPolicy::Step::Kind;
    if (policy_.is_listening())
      if (const auto last = hub_->last_recall_of(peer_.incarnation)) policy_.peer_is_calling(*last);
    const auto step = policy_.due(hub_->now());
    switch (step.kind) {
      case Kind::Call:
        call(step.target);
        continue;
      case Kind::Abandon:
        abandon(conn::Failure::NoAnswer, "no answer in time");
        continue;
      case Kind::End:
        return end(step.reason, last_trouble_);
      case Kind::None:
        break;
    }
    if (const auto next = policy_.next())
      policy_timer_.set(*next, [this] { drive(); });
    else
      policy_timer_.cancel();
    return;
  }
}

// The endpoint goes to the reaper. Until it is gone, no new queue pair may have the owner's buffers, unless
// its device has left: then nothing can write any more, while taking it down can block for 50 s.
void ConnectionCore::retire_endpoint() {
  if (!endpoint_) return;
  for (RegionCore* region : regions_) region->endpoint_gone();
  device_.reset();
  stage_ = Stage::None;
  keepalive_timer_.cancel();
  keepalive_posted_ = early_completions_ = false;
  sends_posted_ = receives_posted_ = 0;
  if (!endpoint_->queue_pair()) return hub_->retire(std::move(endpoint_));
  ++old_queues_;
  hub_->retire(std::move(endpoint_), [weak = weak_from_this(), generation = generation_] {
    if (const auto self = weak.lock()) self->old_queue_gone(generation);
  });
}

void ConnectionCore::lose(DownReason reason) {
  if (state_ != ConnectionState::Up) return;
  if (handing_over_) {
    loss_after_handing_ = reason;
    return;
  }
  const auto self = shared_from_this();
  if (stage_ != Stage::Leaving) endpoint_->disconnect();
  hand_over(Handing::OnlyGood);
  if (state_ != ConnectionState::Up) return;  // closed meanwhile
  loss_after_handing_.reset();
  state_ = ConnectionState::Down;
  hub_->changed();
  quiescing_ = quiesced_ = false;
  down_since_ = hub_->now();
  retire_endpoint();
  const bool ours = reason == DownReason::DeviceRemoved || reason == DownReason::DeviceFatal ||
                    reason == DownReason::Quiesced;
  policy_.lost(hub_->now(), ours                              ? Loss::Moved
                            : reason == DownReason::Requested ? Loss::Requested
                                                              : Loss::Stayed);
  last_trouble_ = "lost: " + std::string(to_text(reason));
  handler_->down(*handle_, reason);
  if (state_ == ConnectionState::Gone) return;
  if (progress_) progress_();
  drive();
}

void ConnectionCore::count_resent(std::uint64_t messages) {
  resent_ += messages;
  hub_->changed();
}

void ConnectionCore::end(GoneReason reason, std::string message) {
  if (state_ == ConnectionState::Gone) return;
  const auto self = shared_from_this();
  state_ = ConnectionState::Gone;
  ticket_.reset();
  if (endpoint_) endpoint_->disconnect();
  retire_endpoint();
  policy_timer_.cancel();
  keepalive_timer_.cancel();
  hub_->remove(*this);
  auto* const handler = std::exchange(handler_, nullptr);
  const auto progress = std::exchange(progress_, nullptr);
  handler->gone(*handle_, {reason, std::move(message)});
  if (progress) progress();
}

void ConnectionCore::loop_ended() {
  if (state_ == ConnectionState::Gone) return;
  state_ = ConnectionState::Gone;
  ticket_.reset();
  if (endpoint_) endpoint_->disconnect();
  retire_endpoint();
  policy_timer_.cancel();
  keepalive_timer_.cancel();
  hub_->remove(*this);
  handler_ = nullptr;
  progress_ = nullptr;
  quiescing_ = false;
}

void ConnectionCore::close() {
  end(GoneReason::Closed, "closed here");
}

void ConnectionCore::restart() {
  lose(DownReason::Requested);
}

void ConnectionCore::hold() {
  if (state_ == ConnectionState::Gone) return;
  const auto self = shared_from_this();
  policy_.hold(hub_->now());
  if (state_ != ConnectionState::Up && endpoint_) abandon(conn::Failure::NoWay, "the agent holds us");
  drive();
}

void ConnectionCore::unhold() {
  if (state_ == ConnectionState::Gone) return;
  const auto self = shared_from_this();
  // An owner that was asked has stopped, and has no word for going on but up().
  const bool was_asked = std::exchange(quiescing_, false);
  quiesced_ = false;
  progress_ = nullptr;
  policy_.unhold(hub_->now());
  if (state_ == ConnectionState::Up && (stage_ == Stage::Leaving || was_asked))
    return lose(DownReason::Quiesced);
  drive();
}

void ConnectionCore::way_appeared() {
  if (state_ == ConnectionState::Gone) return;
  policy_.way_appeared(hub_->now());
  drive();
}

void ConnectionCore::device_left(conn::DeviceNumber device) {
  if (state_ == ConnectionState::Gone || device != last_device_ || device == conn::DeviceNumber::none) return;
  const auto self = shared_from_this();
  old_queues_ = 0;  // nothing can write any more
  ++generation_;
  if (state_ == ConnectionState::Up) {
    lose(stage_ == Stage::Leaving ? DownReason::Quiesced : DownReason::DeviceRemoved);
    old_queues_ = 0;
    ++generation_;
    if (state_ != ConnectionState::Gone) drive();
    return;
  }
  if (endpoint_ && endpoint_->device() == device) {
    abandon(conn::Failure::NoWay, "the device left");
    old_queues_ = 0;
    ++generation_;
  }
  policy_.device_left(hub_->now());
  drive();
}

void ConnectionCore::device_failed(conn::DeviceNumber device) {
  if (device == last_device_) lose(DownReason::DeviceFatal);
}

void ConnectionCore::quiesce(conn::Time deadline, Progress progress) {
  if (state_ != ConnectionState::Up || stage_ != Stage::Established) return;
  const auto self = shared_from_this();
  quiescing_ = true;
  quiesced_ = false;
  progress_ = std::move(progress);
  handler_->quiesce(*handle_, deadline);
}

void ConnectionCore::quiesced() {
  if (!quiescing_ || quiesced_) return;
  quiesced_ = true;
  if (progress_) progress_();
}

// The peer hears it in 0.1 s instead of after its retries. DISCONNECTED comes when it has answered.
void ConnectionCore::say_goodbye() {
  if (state_ != ConnectionState::Up || stage_ != Stage::Established) return;
  hand_over(Handing::OnlyGood);
  if (state_ != ConnectionState::Up || stage_ != Stage::Established) return;
  stage_ = Stage::Leaving;
  endpoint_->disconnect();
}

void ConnectionCore::let_go() {
  if (stage_ == Stage::Leaving) lose(DownReason::Quiesced);
}

}  // namespace rdmove::failover
