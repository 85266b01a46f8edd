#include "guestagent/failover/connection/loop_core.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <system_error>
#include <utility>

#include "guestagent/failover/connection/cm/cm_port.hpp"
#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/protocol/application.hpp"

namespace rdmove::failover {
namespace {

constexpr std::size_t name_limit = 128;  // docs/agent-protocol.md
constexpr conn::Milliseconds let_go_after{300};
constexpr conn::Milliseconds report_after{300};  // the agent takes a few a second

std::string program_name(const std::string& wanted) {
  return (wanted.empty() ? std::string(program_invocation_short_name) : wanted).substr(0, name_limit);
}

}  // namespace

LoopCore::LoopCore(const LoopOptions& options)
    : options_(options),
      timers_([this] { set_alarm(); }),
      let_go_timer_(timers_),
      report_timer_(timers_),
      thread_id_(std::this_thread::get_id()) {}

Result<void> LoopCore::open() {
  if (auto done = poller_.open().and_then([this] { return mailbox_.open(); }); !done) return done;
  alarm_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (alarm_ < 0) return fail(ErrorCode::System, std::string("timerfd_create: ") + std::strerror(errno));
  mailbox_watch_ = poller_.add(mailbox_.fd(), [this] { mailbox_.run_all(); });
  alarm_watch_ = poller_.add(alarm_, [this] { take_alarm(); });
  address_watch_ = poller_.add(addresses_.fd(), [this] {
    if (!addresses_.address_appeared()) return;
    if (!hub_->is_held()) came_back_ = clock_.now();
    hub_->way_appeared();
  });
  port_ = std::make_shared<conn::CmPort>(conn::ProcessWide::instance());
  reaper_ =
      std::make_unique<conn::ReaperThread>(port_, [this](auto done) { mailbox_.post(std::move(done)); });
  hub_ = std::make_unique<conn::Hub>(conn::HubServices{*port_, *reaper_, poller_, timers_, clock_, random_},
                                     options_.backlog);
  agent_ = std::make_unique<conn::AgentLine>(options_.agent_socket, program_name(options_.name), poller_,
                                             timers_, clock_, *this);
  hub_->on_change([this] { report_soon(); });
  agent_->start();
  return {};
}

LoopCore::~LoopCore() {
  end_thread();
  let_go_timer_.cancel();
  report_timer_.cancel();
  if (hub_) hub_->on_change({});
  round_.reset();
  agent_.reset();
  if (hub_) hub_->end();
  reaper_.reset();  // may still use the port, which it owns, too
  hub_.reset();
  if (alarm_ >= 0) close(alarm_);
}

void LoopCore::dispatch(int timeout_ms) {
  thread_id_ = std::this_thread::get_id();
  const bool outer = std::exchange(dispatching_, true);
  poller_.dispatch(timeout_ms);
  dispatching_ = outer;
  set_alarm();
}

void LoopCore::run() {
  while (!stopping_.exchange(false)) dispatch(-1);
}

void LoopCore::stop() {
  stopping_ = true;
  mailbox_.wake();
}

Result<void> LoopCore::start_thread() {
  if (thread_.joinable()) return fail(ErrorCode::Exists, "the loop has a thread already");
  std::promise<void> started;
  try {
    thread_ = std::thread([this, &started] {
      thread_id_ = std::this_thread::get_id();
      started.set_value();
      run();
    });
  } catch (const std::system_error& error) {
    return fail(ErrorCode::System, std::string("starting a thread: ") + error.what());
  }
  started.get_future().wait();
  return {};
}

void LoopCore::end_thread() {
  if (!thread_.joinable()) return;
  stop();
  thread_.join();
  thread_id_ = std::this_thread::get_id();
}

void LoopCore::call(const std::function<void()>& work) {
  if (in_loop()) return work();
  std::promise<void> done;
  post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

// One system call for a pass of the loop at most, not one for each timer. An alarm that is too early stays:
// when it rings, the next one is set.
void LoopCore::set_alarm() {
  if (dispatching_ || alarm_ < 0) return;
  const auto next = timers_.next();
  if (!next || (alarm_at_ && *alarm_at_ <= *next)) return;
  alarm_at_ = next;
  itimerspec setting{};
  const auto since = std::max(next->time_since_epoch(), conn::Time::duration(1));  // 0 would be "never"
  setting.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  setting.it_value.tv_nsec = (since % std::chrono::seconds(1)).count();
  timerfd_settime(alarm_, TFD_TIMER_ABSTIME, &setting, nullptr);
}

void LoopCore::take_alarm() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto size = read(alarm_, &count, sizeof count);
  alarm_at_.reset();
  hub_->take_events();  // what has arrived is not late
  timers_.run_due(clock_.now());
}

void LoopCore::asked_to_quiesce(conn::Milliseconds time) {
  round_ = std::make_unique<conn::QuiesceRound>(*hub_, time, [this] { agent_->released(); });
  round_->start();
}

// librdmacm has opened the agent's anchor while it looked: unless it looks again, it keeps that. The calls go
// first.
void LoopCore::device_is_back() {
  came_back_ = clock_.now();
  end_round();
  let_go_timer_.set(clock_.now() + let_go_after, [this] { hub_->let_go(); });
}

void LoopCore::agent_lost() {
  end_round();
}

// A crowd that comes back is one report.
void LoopCore::report_soon() {
  if (report_is_due_ || !agent_ || !agent_->is_registered()) return;
  report_is_due_ = true;
  report_timer_.set(clock_.now() + report_after, [this] { report(); });
}

void LoopCore::report() {
  using protocol::application::ReportedState;
  report_is_due_ = false;
  const auto now = hub_->report();
  protocol::application::Report told;
  told.connections = now.connections;
  told.up = now.up;
  told.state = now.connections == 0       ? ReportedState::Idle
               : hub_->is_held()          ? ReportedState::Quiesced
               : now.up < now.connections ? ReportedState::Reconnecting
                                          : ReportedState::Up;
  if (now.failovers > 0) told.last_blackout = now.longest_blackout;
  told.resent = now.resent;
  agent_->notify({std::string(protocol::application::Report::method), told.to_payload()});
}

void LoopCore::end_round() {
  round_.reset();
  hub_->unhold();
}

}  // namespace rdmove::failover
