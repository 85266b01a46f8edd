// The event loop that connections, channels and listeners live on. It holds the RDMA CM event channel, the
// line to the guest agent, the timers, and the thread that takes down queue pairs (which may block for many
// seconds).
//
// Who runs it: either the application (poll fd() for reading, then dispatch()), or the library
// (start_thread()). All callbacks come from the thread that runs it. Except for post(), call(), stop() and
// in_loop(), everything in this library may only be called on that thread. A process may have several loops,
// each with its thread: nothing of one is another's. Devices, which librdmacm has once for a process, they
// leave when the last of them lets go.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rdmove/error.hpp"

namespace rdmove::failover {

struct LoopOptions {
  /// How the agent shows this program; at most 128 bytes. Empty: the program's name.
  std::string name;

  /// The guest agent's application socket. Empty: work without an agent. If nobody listens there, the loop
  /// goes by the kernel's events alone and tries again now and then.
  std::string agent_socket = "/run/rdmove/agent.sock";

  /// How many connect requests may be on their way to us at once; told to the peers, who keep to it.
  std::uint16_t backlog = 1024;
};

class LoopCore;  // the implementation

class Loop {
 public:
  /// Works on a machine without any RDMA device, too: one may come later.
  static Result<std::unique_ptr<Loop>> create(const LoopOptions& options = {});

  /// Ends the thread and closes what is still open (connections see no more callbacks).
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] int fd() const;  ///< readable when dispatch() has something to do; never changes
  void dispatch();               ///< handles what is there; never waits

  void run();   ///< dispatches until stop(); for a program that has nothing else to wait for
  void stop();  ///< any thread; also signal-safe

  Result<void> start_thread();  ///< run() on a thread of the library's own

  void post(std::function<void()> work);  ///< any thread: run it on the loop, soon
  void call(
      const std::function<void()>& work);  ///< any thread: run it on the loop and wait; on the loop: at once
  [[nodiscard]] bool in_loop() const;

  /// When the agent, or without one the kernel, last said that a device is there again. The epoch: never.
  [[nodiscard]] std::chrono::steady_clock::time_point came_back() const;

  [[nodiscard]] LoopCore& core() { return *core_; }

 private:
  explicit Loop(std::unique_ptr<LoopCore> core);
  std::unique_ptr<LoopCore> core_;
};

}  // namespace rdmove::failover
