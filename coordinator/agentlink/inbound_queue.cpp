#include <utility>
//
#include "coordinator/agentlink/inbound_queue.hpp"

#include <boost/asio/post.hpp>

namespace rdmove {

void InboundQueue::onBytes(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  // After a gap everything is dropped until the loop has looked: what follows would join the half line before
  // it.
  if (waiting_.gap || waiting_.bytes.size() + bytes.size() > limit_) {
    waiting_.gap = true;
  } else {
    waiting_.bytes += bytes;
  }
  announce();
}

void InboundQueue::onClosed(const std::string& why) {
  const std::lock_guard lock(mutex_);
  waiting_.closed = true;
  waiting_.why = why;
  announce();
}

void InboundQueue::announce() {
  if (std::exchange(announced_, true)) return;
  boost::asio::post(loop_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->arrived_();
  });
}

Inbound InboundQueue::take() {
  const std::lock_guard lock(mutex_);
  announced_ = false;
  return std::exchange(waiting_, {});
}

}  // namespace rdmove
