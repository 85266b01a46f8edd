// libvirt's event loop on a thread of its own: events, keepalives and streams are served there. One at a time
// per process, made before the first connection and destroyed after the last. post() may be called from any
// thread.
#pragma once

#include <functional>
#include <memory>

namespace rdmove {

class LibvirtEventLoop {
 public:
  /// Throws when libvirt cannot be initialised, or another loop exists. The process ignores SIGPIPE from then
  /// on.
  LibvirtEventLoop();
  ~LibvirtEventLoop();  ///< what was posted and has not run yet is dropped
  LibvirtEventLoop(const LibvirtEventLoop&) = delete;
  LibvirtEventLoop& operator=(const LibvirtEventLoop&) = delete;

  /// Runs `work` on the loop's thread. It must not block: keepalives wait for it.
  void post(std::function<void()> work);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmove
