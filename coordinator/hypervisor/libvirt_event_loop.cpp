#include "coordinator/hypervisor/libvirt_event_loop.hpp"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace rdmove {
namespace {

std::atomic<bool> loop_exists{false};

/// libvirt's default handler prints to standard error; ours returns errors to whoever asked.
void ignoreError(void*, virErrorPtr) {}

void registerOnce() {
  static const bool registered = virInitialize() == 0 && virEventRegisterDefaultImpl() == 0;
  if (!registered) throw std::runtime_error("libvirt cannot be initialised");
  virSetErrorFunc(nullptr, ignoreError);
  std::signal(SIGPIPE, SIG_IGN);  // libvirt writes to its sockets with write(2)
}

}  // namespace

struct LibvirtEventLoop::State {
  std::mutex mutex;
  std::deque<std::function<void()>> posted;
  std::atomic<bool> stopping{false};
  int wake = -1;  ///< a timeout that never fires by itself; set to 0 it ends the loop's poll
  std::thread thread;

  static void onWake(int timer, void* opaque) {
    virEventUpdateTimeout(timer, -1);
    static_cast<State*>(opaque)->runPosted();
  }

  void runPosted() {
    std::deque<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex);
      work.swap(posted);
    }
    for (auto& each : work) each();
  }

  void run() {
    while (!stopping) {
      if (virEventRunDefaultImpl() == 0) continue;
      spdlog::error("libvirt's event loop failed: {}", virGetLastErrorMessage());
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a broken poll must not take a whole CPU
    }
  }
};

LibvirtEventLoop::LibvirtEventLoop() : state_(std::make_unique<State>()) {
  registerOnce();
  if (loop_exists.exchange(true)) throw std::logic_error("a LibvirtEventLoop exists already");
  state_->wake = virEventAddTimeout(-1, &State::onWake, state_.get(), nullptr);
  if (state_->wake < 0) {
    loop_exists = false;
    throw std::runtime_error("libvirt has no timer for the event loop");
  }
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

LibvirtEventLoop::~LibvirtEventLoop() {
  state_->stopping = true;
  virEventUpdateTimeout(state_->wake, 0);
  state_->thread.join();
  virEventRemoveTimeout(state_->wake);
  loop_exists = false;
}

void LibvirtEventLoop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->posted.push_back(std::move(work));
  }
  virEventUpdateTimeout(state_->wake, 0);
}

}  // namespace rdmove
