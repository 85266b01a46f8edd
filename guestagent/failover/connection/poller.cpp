#include "guestagent/failover/connection/poller.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rdmove::failover::conn {

Poller::~Poller() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Poller::open() {
  fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (fd_ < 0) return fail(ErrorCode::System, std::string("epoll_create1: ") + std::strerror(errno));
  return {};
}

Poller::Watch Poller::add(int file, Ready ready) {
  if (file < 0) return Watch::none;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = ++last_;
  if (epoll_ctl(fd_, EPOLL_CTL_ADD, file, &event) != 0) return Watch::none;
  entries_.emplace(last_, Entry{file, std::make_shared<Ready>(std::move(ready))});
  return Watch{last_};
}

void Poller::remove(Watch& watch) {
  const auto entry = entries_.find(static_cast<std::uint64_t>(watch));
  watch = Watch::none;
  if (entry == entries_.end()) return;
  epoll_ctl(fd_, EPOLL_CTL_DEL, entry->second.file, nullptr);
  entries_.erase(entry);
}

void Poller::dispatch(int timeout_ms) {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(fd_, events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto entry = entries_.find(events.at(static_cast<std::size_t>(i)).data.u64);
    if (entry == entries_.end()) continue;  // removed by one before it
    const auto ready = entry->second.ready;
    (*ready)();
  }
}

}  // namespace rdmove::failover::conn
