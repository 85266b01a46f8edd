// A few threads for what channels must not do on the caller's or the event loop's thread: stream writes and
// aborts can wait for libvirtd. Private to the libvirt_*.cpp files; shared by the channels, stopped by the
// driver.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <mutex>

namespace rdmove {

class LibvirtWorkers {
 public:
  /// After stop(), the work runs in the caller.
  void run(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (!stopped_) {
        boost::asio::post(pool_, std::move(work));
        return;
      }
    }
    work();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    pool_.join();
  }

 private:
  std::mutex mutex_;
  bool stopped_ = false;
  boost::asio::thread_pool pool_{4};
};

}  // namespace rdmove
