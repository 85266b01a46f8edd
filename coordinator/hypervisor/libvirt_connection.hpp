// The connections to one libvirtd. Private to the libvirt_*.cpp files; owned by LibvirtHypervisor; any
// thread.
//   shared(): one, kept open, with the events; re-opened by a thread of its own when libvirtd goes. For quick
//   reads:
//             libvirtd serves only a few requests at once on a connection (max_client_requests, 5 by
//             default).
//   forCall(): one for each call that may wait (job lock, migration, stream). Given back when its last copy
//   goes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/hypervisor/libvirt_event_loop.hpp"
#include "coordinator/hypervisor/libvirt_events.hpp"
#include "coordinator/hypervisor/libvirt_handles.hpp"

namespace rdmove {

/// Idle connections of one URI, ready for the next call. Held by shared_ptr: a lease may outlive its owner.
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
 public:
  explicit ConnectionPool(std::string uri) : uri_(std::move(uri)) {}
  ~ConnectionPool();
  Result<ConnectionRef> take();
  void warm();   ///< has one ready: opening costs some milliseconds of a blackout
  void close();  ///< drops the idle ones; leases that come back are closed
 private:
  void giveBack(virConnectPtr connection);

  std::string uri_;
  std::mutex mutex_;
  std::vector<virConnectPtr> idle_;
  bool closed_ = false;
};

class LibvirtConnection {
 public:
  LibvirtConnection(std::string uri, LibvirtEventLoop& loop, HypervisorListener& listener);
  ~LibvirtConnection();

  Result<void> start();
  Result<ConnectionRef> shared();
  Result<ConnectionRef> forCall() { return pool_->take(); }

 private:
  struct Open {
    ConnectionRef connection;
    std::vector<int> events;
  };

  Result<Open> open();
  void close(Open& dead);
  void onLost(int reason);
  void keep();
  bool reopen();
  static void closed(virConnectPtr, int reason, void* opaque) noexcept;

  const std::string uri_;
  LibvirtEventLoop& loop_;
  std::shared_ptr<EventSink> sink_;
  std::shared_ptr<ConnectionPool> pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Open current_;
  bool lost_ = false;
  bool stopping_ = false;
  std::thread keeper_;
};

}  // namespace rdmove
