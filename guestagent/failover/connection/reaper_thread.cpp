#include "guestagent/failover/connection/reaper_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace rdmove::failover::conn {
namespace {

constexpr unsigned most_helpers = 64;
constexpr Milliseconds blocked_after{50};
constexpr std::chrono::seconds farewell{2};

}  // namespace

struct ReaperThread::State : std::enable_shared_from_this<ReaperThread::State> {
  struct Burial {
    std::unique_ptr<Endpoint> endpoint;
    Done done;
  };

  std::shared_ptr<RdmaPort> port;
  std::mutex mutex;
  std::condition_variable changed;  // for the one thread
  std::condition_variable more;     // for the helpers
  std::condition_variable idle;
  Post post;                                 // empty once the loop is gone
  std::deque<Burial> burials;                // for the helpers
  std::deque<std::function<void()>> chores;  // for the one thread
  unsigned helpers = 0;
  unsigned threads = 0;  // that have not ended
  unsigned busy = 0;     // threads at work
  std::uint64_t buried = 0;
  bool sleeping = false;  // the one thread: it has nothing to do, and no helper to watch
  bool started = false;
  bool ended = false;

  void tell(Done done) {
    const std::lock_guard lock(mutex);
    if (post && done) post(std::move(done));
  }

  // Called with the mutex held, as all of these.
  void add_thread(void (State::*body)()) {
    ++threads;
    std::thread([self = shared_from_this(), body] {
      (self.get()->*body)();
      const std::lock_guard lock(self->mutex);
      --self->threads;
      self->idle.notify_all();
    }).detach();
  }

  void add_helper() {
    ++helpers;
    add_thread(&State::help);
  }

  void start() {
    if (std::exchange(started, true)) return;
    add_thread(&State::supervise);
    add_helper();
  }

  [[nodiscard]] bool is_idle() const { return burials.empty() && chores.empty() && busy == 0; }

  void help() {
    std::unique_lock lock(mutex);
    for (;;) {
      more.wait(lock, [this] { return ended || !burials.empty(); });
      if (burials.empty()) return;
      Burial burial = std::move(burials.front());
      burials.pop_front();
      ++busy;
      lock.unlock();
      burial.endpoint.reset();
      tell(std::move(burial.done));
      lock.lock();
      ++buried;
      --busy;
      if (is_idle()) idle.notify_all();
    }
  }

  void supervise() {
    std::unique_lock lock(mutex);
    std::uint64_t before = 0;
    for (;;) {
      const auto wanted = [this] { return ended || !chores.empty(); };
      if (burials.empty()) {
        sleeping = true;
        changed.wait(lock, [&] { return wanted() || !burials.empty(); });
        sleeping = false;
        before = buried;
      }
      if (!changed.wait_for(lock, blocked_after, wanted)) {
        if (!burials.empty() && buried == before && helpers < most_helpers) add_helper();
        before = buried;
        continue;
      }
      if (chores.empty()) return;
      const auto chore = std::move(chores.front());
      chores.pop_front();
      ++busy;
      lock.unlock();
      chore();
      lock.lock();
      --busy;
      if (is_idle()) idle.notify_all();
    }
  }

  void add(std::function<void()> chore) {
    const std::lock_guard lock(mutex);
    start();
    chores.push_back(std::move(chore));
    changed.notify_all();
  }
};

ReaperThread::ReaperThread(std::shared_ptr<RdmaPort> port, Post post) : state_(std::make_shared<State>()) {
  state_->port = std::move(port);
  state_->post = std::move(post);
}

ReaperThread::~ReaperThread() {
  std::unique_lock lock(state_->mutex);
  state_->post = nullptr;
  state_->idle.wait_for(lock, farewell, [this] { return state_->is_idle(); });
  state_->ended = true;
  state_->changed.notify_all();
  state_->more.notify_all();
  if (!state_->idle.wait_for(lock, farewell, [this] { return state_->threads == 0 || !state_->is_idle(); }))
    return;
  if (state_->threads != 0) return;
  const auto port = std::move(state_->port);  // here, and not on whatever thread is the last
  lock.unlock();
}

void ReaperThread::destroy(std::unique_ptr<Endpoint> endpoint, Done done) {
  const std::lock_guard lock(state_->mutex);
  state_->start();
  state_->burials.push_back({std::move(endpoint), std::move(done)});
  // A crowd wakes each of the two once: to wake a thread costs as much as a queue pair's smaller calls.
  state_->more.notify_one();
  if (state_->sleeping) state_->changed.notify_one();
}

void ReaperThread::close(std::shared_ptr<Device> device, std::vector<std::unique_ptr<Endpoint>> pins,
                         Done done) {
  struct Estate {
    std::shared_ptr<Device> device;
    std::vector<std::unique_ptr<Endpoint>> pins;
  };
  auto estate = std::make_shared<Estate>(Estate{std::move(device), std::move(pins)});
  state_->add([state = state_.get(), estate, done = std::move(done)] {
    estate->device.reset();  // needs the context that the pins keep
    estate->pins.clear();
    state->tell(done);
  });
}

}  // namespace rdmove::failover::conn
