#include "guestagent/failover/connection/cm/looking_thread.hpp"

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rdmove::failover::conn {

struct LookingThread::State {
  std::mutex turn;  // of those who want a look
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void()>* look = nullptr;
  bool has_begun = false;
  bool has_ended = false;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return look != nullptr || has_ended; });
      if (!look) return;
      (*look)();
      look = nullptr;
      changed.notify_all();
    }
  }
};

namespace {

/// The program's signals are not for us.
template <class Begin>
void with_signals_blocked(Begin begin) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    begin();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

LookingThread::LookingThread() : state_(std::make_shared<State>()) {}

// Not joined: what belongs to the whole process has nobody who could.
LookingThread::~LookingThread() {
  const std::lock_guard lock(state_->mutex);
  state_->has_ended = true;
  state_->changed.notify_all();
}

void LookingThread::run(const std::function<void()>& look) {
  const std::lock_guard turn(state_->turn);
  std::unique_lock lock(state_->mutex);
  if (!state_->has_begun) {
    try {
      with_signals_blocked([this] { std::thread([state = state_] { state->serve(); }).detach(); });
      state_->has_begun = true;
    } catch (const std::system_error&) {
      return look();
    }
  }
  state_->look = &look;
  state_->changed.notify_all();
  state_->changed.wait(lock, [this] { return state_->look == nullptr; });
}

}  // namespace rdmove::failover::conn
