// What the guest sends, on its way from the hypervisor's thread to the loop: bounded, so that a guest which
// sends faster than the loop reads loses bytes of its own. Shared by the channel's owner and the posts under
// way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "coordinator/hypervisor/channel.hpp"

namespace rdmove {

struct Inbound {
  std::string bytes;
  bool gap = false;  ///< bytes were dropped after these: the line that is half read is lost
  bool closed = false;
  std::string why;
};

class InboundQueue : public ChannelListener, public std::enable_shared_from_this<InboundQueue> {
 public:
  /// `arrived` is called on the loop when there is something to take().
  InboundQueue(boost::asio::io_context& loop, std::size_t limit, std::function<void()> arrived)
      : loop_(loop), limit_(limit), arrived_(std::move(arrived)) {}

  void onBytes(std::string_view bytes) override;
  void onClosed(const std::string& why) override;

  Inbound take();  ///< loop thread

 private:
  void announce();

  boost::asio::io_context& loop_;
  const std::size_t limit_;
  const std::function<void()> arrived_;
  std::mutex mutex_;
  Inbound waiting_;
  bool announced_ = false;
};

}  // namespace rdmove
