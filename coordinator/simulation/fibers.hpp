// Calls that block, in virtual time: each worker's job of a simulated daemon is a fiber, which gives its
// stack up while it waits. Killing a daemon ends its fibers where they wait, as kill -9 ends threads; they
// unwind, so that nothing is leaked. One thread.
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

#include "coordinator/simulation/agenda.hpp"

namespace rdmove::simulation {

class Fibers {
 public:
  /// Thrown out of a wait of a daemon that was killed. No std::exception: nobody takes it for an error.
  struct Killed {};

  explicit Fibers(Agenda& agenda) : agenda_(agenda) {}
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// `owner` is whose fibers kill() ends.
  void start(const void* owner, std::function<void()> work);
  void kill(const void* owner);

  // From inside a fiber.
  void sleep(Duration time);
  /// Goes on once `wake`, which `arrange` gets, was called.
  void await(const std::function<void(std::function<void()> wake)>& arrange);

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    const void* owner = nullptr;
    std::function<void()> work;
    std::uint64_t wait = 0;  ///< which of its waits it is in; a wake for an earlier one does nothing
    bool killed = false;
    bool over = false;
  };
  using Handle = std::shared_ptr<Fiber>;

  static void enter(unsigned high, unsigned low);
  void resume(const Handle& fiber);
  void suspend();

  Agenda& agenda_;
  ucontext_t main_{};
  Handle current_;
  std::vector<Handle> alive_;
  std::vector<std::unique_ptr<char[]>> stacks_;  ///< of fibers that are over
};

}  // namespace rdmove::simulation
