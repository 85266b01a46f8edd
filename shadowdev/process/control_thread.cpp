#include "shadowdev/process/control_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "guestagent/protocol/application.hpp"

namespace rdmove::shadow {

namespace words = protocol::application;
using failover::conn::Milliseconds;

namespace {

constexpr Milliseconds kNextRound{1};
constexpr Milliseconds kNextTry{20};  // for a device that is not there yet
// From where there is no way back; then an error is better than silence.
constexpr Milliseconds kLongestWayOut{10'000};
constexpr Milliseconds kRelinkAfter{1'000};
constexpr std::chrono::seconds kOpenWaits{60};
constexpr int kPumpEvery = 100;  // milliseconds
// Listeners whose address is not there again after this long stay silent, rather than all else with them.
constexpr Milliseconds kListenersWithin{10'000};

}  // namespace

ControlThread::Opening::Opening(ControlThread& control) : control_(control) {
  std::unique_lock hold(control_.gate_);
  control_.gate_opens_.wait_for(hold, kOpenWaits, [&] { return !control_.held_; });
  ++control_.opening_;
}

ControlThread::Opening::~Opening() {
  const std::lock_guard hold(control_.gate_);
  --control_.opening_;
  control_.gate_opens_.notify_all();
}

ControlThread::ControlThread(Engine& engine, RelayLink& link, ControlOptions options)
    : engine_(engine),
      link_(link),
      desk_(engine),
      options_(std::move(options)),
      next_(timers_),
      relink_(timers_),
      line_(options_.agent_socket, options_.name, poller_, timers_, clock_, *this) {}

void ControlThread::start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ControlThread::run() {
  pthread_setname_np(pthread_self(), "rdmove-shadow");
  if (!poller_.open())
    return options_.say("no descriptor is left for the shadow: this process cannot be parked");
  link_.serve([this](const ibv_gid& from, const ibv_gid& to, std::span<const std::byte> question) {
    moved_ = true;
    return desk_.answer(from, to, question);
  });
  watch_link();
  line_.start();
  for (;;) {
    int wait = -1;
    if (const auto next = timers_.next()) {
      const auto left = std::chrono::ceil<Milliseconds>(*next - clock_.now()).count();
      wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }
    // Programs that wait for an event poll nothing: what waits for a try is tried from here as well.
    if (moved_) wait = wait < 0 ? kPumpEvery : std::min(wait, kPumpEvery);
    poller_.dispatch(wait);
    timers_.run_due(clock_.now());
    if (engine_.to_pump.load(std::memory_order_relaxed) != 0) pump();
    if (moved_ && engine_.connections != nullptr) engine_.connections->tend();
  }
}

void ControlThread::pump() {
  std::vector<std::pair<std::unique_ptr<Pin>, VirtualContext*>> all;
  {
    const std::lock_guard hold(engine_.control);
    for (VirtualContext* one : engine_.contexts) all.emplace_back(std::make_unique<Pin>(engine_, *one), one);
  }
  for (const auto& [unused, one] : all) engine_.pump(*one);
}

void ControlThread::watch_link() {
  poller_.remove(watch_);
  if (link_.connect())
    watch_ = poller_.add(link_.fd(), [this] {
      if (!link_.read()) watch_link();
    });
  else
    relink_.set(clock_.now() + kRelinkAfter, [this] { watch_link(); });
}

void ControlThread::agent_found() {
  if (link_.fd() < 0) watch_link();
  report();
}

void ControlThread::asked_to_quiesce(Milliseconds time) {
  {
    std::unique_lock hold(gate_);
    held_ = true;
    gate_opens_.wait_for(hold, time / 2, [&] { return opening_ == 0; });
  }
  if (engine_.connections != nullptr) engine_.connections->close_gate();
  asked_ = true;
  goes_back_ = false;
  settles_until_ = clock_.now() + time / 4;
  deadline_ = clock_.now() + time * 9 / 10;
  tick();
}

void ControlThread::device_is_back() {
  asked_ = false;
  goes_back_ = true;
  tick();
}

void ControlThread::agent_lost() {
  if (!asked_ && moves_.empty()) return;
  device_is_back();  // nobody will say so
}

void ControlThread::begin_moves() {
  moved_ = true;
  std::vector<std::list<Move>::iterator> fresh;
  {
    const std::lock_guard hold(engine_.control);
    for (VirtualContext* one : engine_.contexts) {
      const auto moves = [&](const Move& move) { return move.context == &one->context; };
      if (one->presence == Presence::Lost || std::any_of(moves_.begin(), moves_.end(), moves)) continue;
      fresh.push_back(moves_.emplace(moves_.end(), engine_, *one));
    }
  }
  for (const auto move : fresh)
    if (!noted(*move, move->mover.begin_park())) moves_.erase(move);  // tried again with the next tick
}

template <class T>
bool ControlThread::noted(Move& move, const Result<T>& result) {
  if (!result && move.word != result.error().message) {
    move.word = result.error().message;
    if (result.error().code != ProblemCode::NotYet) options_.say(move.word);
  }
  return result.has_value();
}

bool ControlThread::bring_back(Move& move) {
  for (const std::string& device : options_.devices()) {
    const auto begun = move.mover.begin_restore(device);
    if (begun) return true;
    move.word = begun.error().message;
  }
  return false;
}

bool ControlThread::step(Move& move) {
  switch (move.at) {
    case At::Parking: {
      if (goes_back_ && move.mover.can_roll_back()) {
        move.mover.roll_back();
        return true;
      }
      if (goes_back_ && clock_.now() > deadline_ + kLongestWayOut) {
        options_.say("its queues do not become empty: what was under way there has ended with errors");
        move.mover.lose();
        return true;
      }
      const auto parked = move.mover.park();
      if (noted(move, parked) && *parked == Mover::Step::Done) move.at = At::Parked;
      return false;
    }
    case At::Parked:
      if (goes_back_ && bring_back(move)) move.at = At::Restoring;
      return false;
    default: {
      const auto restored = move.mover.restore();
      return noted(move, restored) && *restored == Mover::Step::Done;
    }
  }
}

void ControlThread::tick() {
  next_.cancel();
  if (!goes_back_ && asked_ && moves_.empty() && clock_.now() < settles_until_ &&
      engine_.connections != nullptr && !engine_.connections->is_settled())
    return next_.set(clock_.now() + kNextRound, [this] { tick(); });
  if (!goes_back_ && asked_) begin_moves();
  for (auto move = moves_.begin(); move != moves_.end();)
    move = step(*move) ? moves_.erase(move) : std::next(move);

  const auto at = [&](At what) {
    return std::any_of(moves_.begin(), moves_.end(), [&](const Move& move) { return move.at == what; });
  };
  if (goes_back_) {
    if (moves_.empty()) {
      if (all_listen()) return end_hold();
      return next_.set(clock_.now() + kNextTry, [this] { tick(); });
    }
    listeners_until_ = clock_.now() + kListenersWithin;
    const bool waits_for_device = !at(At::Parking) && !at(At::Restoring);
    return next_.set(clock_.now() + (waits_for_device ? kNextTry : kNextRound), [this] { tick(); });
  }
  if (!asked_) return;
  std::size_t contexts = 0;
  {
    const std::lock_guard hold(engine_.control);
    contexts = engine_.contexts.size();
  }
  if (!at(At::Parking) && !at(At::Restoring) && moves_.size() == contexts) {
    asked_ = false;
    parked_at_ = clock_.now();
    if (engine_.connections != nullptr) engine_.connections->tend();  // the kernel says goodbye while it can
    line_.released();
    return report();
  }
  if (clock_.now() > deadline_) {
    options_.say("what is under way did not end in time: this process is not parked, and goes on");
    asked_ = false;
    goes_back_ = true;  // the agent's own deadline names us as a holdout
  }
  next_.set(clock_.now() + kNextRound, [this] { tick(); });
}

bool ControlThread::all_listen() {
  if (engine_.connections == nullptr || engine_.connections->come_back()) return true;
  if (clock_.now() < listeners_until_) return false;
  options_.say("an address that this program listened at is not there: it does not listen any more");
  return true;
}

void ControlThread::end_hold() {
  goes_back_ = false;
  if (engine_.connections != nullptr) engine_.connections->open_gate();
  {
    const std::lock_guard hold(gate_);
    held_ = false;
    gate_opens_.notify_all();
  }
  if (parked_at_ != Time{}) last_blackout_ = std::chrono::ceil<Milliseconds>(clock_.now() - parked_at_);
  parked_at_ = {};
  report();
}

void ControlThread::report() {
  words::Report word;
  {
    const std::lock_guard hold(engine_.control);
    for (const VirtualContext* context : engine_.contexts)
      for (const VirtualQp* qp : context->qps) {
        if (qp->lost || (qp->attr.qp_state != IBV_QPS_RTR && qp->attr.qp_state != IBV_QPS_RTS)) continue;
        ++word.connections;
        word.up += qp->phase.load() < Phase::Held ? 1 : 0;
      }
  }
  const bool is_away = parked_at_ != Time{};
  word.state = is_away                 ? words::ReportedState::Quiesced
               : word.connections == 0 ? words::ReportedState::Idle
                                       : words::ReportedState::Up;
  word.last_blackout = last_blackout_;
  line_.notify(protocol::notification(word));
}

}  // namespace rdmove::shadow
