#include "guestagent/failover/connection/quiesce_round.hpp"

#include "guestagent/failover/connection/connection_core.hpp"

namespace rdmove::failover::conn {
namespace {

constexpr Milliseconds margin{300};     // of the agent's time, for all that follows the owners' word
constexpr Milliseconds margin_each{2};  // and for each connection that is taken down then
constexpr Milliseconds goodbye{100};    // for the peers' answer; they have heard it long before
constexpr Milliseconds again{200};
constexpr unsigned most_rounds = 20;

}  // namespace

QuiesceRound::QuiesceRound(Hub& hub, Milliseconds time, std::function<void()> released)
    : hub_(hub),
      deadline_(hub.now() + std::max(time - margin - hub.report().connections * margin_each, time / 2)),
      released_(std::move(released)),
      timer_(hub.timers()) {}

QuiesceRound::~QuiesceRound() {
  *alive_ = false;
  hub_.devices().stop_releasing();
}

void QuiesceRound::start() {
  starting_ = true;
  hub_.hold();
  const auto progress = [this, alive = alive_] {
    if (*alive) look();
  };
  hub_.for_each([&](ConnectionCore& connection) { connection.quiesce(deadline_, progress); });
  starting_ = false;
  timer_.set(deadline_, [this] { say_goodbye(); });
  look();
}

void QuiesceRound::look() {
  if (starting_) return;
  // Called for each connection that gets further: mostly one of the first is not there yet.
  if (phase_ == Phase::Finishing) {
    if (!hub_.has_any([](const ConnectionCore& connection) { return connection.is_busy(); })) say_goodbye();
  } else if (phase_ == Phase::Goodbye) {
    if (!hub_.has_any([](const ConnectionCore& connection) { return connection.is_leaving(); })) release();
  }
}

void QuiesceRound::say_goodbye() {
  phase_ = Phase::Goodbye;
  starting_ = true;
  hub_.for_each([](ConnectionCore& connection) { connection.say_goodbye(); });
  starting_ = false;
  timer_.set(hub_.now() + goodbye, [this] { release(); });
  look();
}

void QuiesceRound::release() {
  phase_ = Phase::Releasing;
  timer_.cancel();
  hub_.for_each([](ConnectionCore& connection) { connection.let_go(); });
  hub_.devices().release_all([this, alive = alive_] {
    if (!*alive) return;
    phase_ = Phase::Released;
    released_();
    if (*alive) timer_.set(hub_.now() + again, [this] { go_on_letting_go(); });
  });
}

// rdma_get_devices opens every device, so librdmacm may hold one on which we have no canary. While a device
// is about to leave, have it look again until the canaries have been told, or a while without any.
void QuiesceRound::go_on_letting_go() {
  if (++rounds_ > most_rounds) return;
  hub_.let_go();
  timer_.set(hub_.now() + again, [this] { go_on_letting_go(); });
}

}  // namespace rdmove::failover::conn
