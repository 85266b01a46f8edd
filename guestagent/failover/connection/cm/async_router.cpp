#include "guestagent/failover/connection/cm/async_router.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "guestagent/failover/connection/cm/call_error.hpp"

namespace rdmove::failover::conn {

Result<std::unique_ptr<AsyncRouter::Inbox>> AsyncRouter::subscribe(ibv_context* context) {
  std::unique_ptr<Inbox> inbox(new Inbox(*this, context));
  inbox->both_ = epoll_create1(EPOLL_CLOEXEC);
  if (inbox->both_ < 0) return call_failed("epoll_create1", errno);
  inbox->waiting_file_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (inbox->waiting_file_ < 0) return call_failed("eventfd", errno);
  epoll_event readable{};
  readable.events = EPOLLIN;
  for (const int file : {context->async_fd, inbox->waiting_file_})
    if (epoll_ctl(inbox->both_, EPOLL_CTL_ADD, file, &readable) != 0) return call_failed("epoll_ctl", errno);
  const std::lock_guard lock(mutex_);
  inboxes_.push_back(inbox.get());
  return inbox;
}

void AsyncRouter::read(ibv_context* context) {
  while (const auto event = take_(context)) {
    for (Inbox* inbox : inboxes_) {
      if (inbox->context_ != context) continue;
      inbox->waiting_.push_back(*event);
      eventfd_write(inbox->waiting_file_, 1);
    }
  }
}

AsyncRouter::Inbox::~Inbox() {
  {
    const std::lock_guard lock(router_.mutex_);
    std::erase(router_.inboxes_, this);
  }
  if (both_ >= 0) close(both_);
  if (waiting_file_ >= 0) close(waiting_file_);
}

std::optional<AsyncRouter::Event> AsyncRouter::Inbox::take() {
  const std::lock_guard lock(router_.mutex_);
  router_.read(context_);
  if (waiting_.empty()) {
    eventfd_t count = 0;
    eventfd_read(waiting_file_, &count);
    return std::nullopt;
  }
  const Event event = waiting_.front();
  waiting_.pop_front();
  return event;
}

}  // namespace rdmove::failover::conn
