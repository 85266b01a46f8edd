#include "guestagent/failover/connection/timer_queue.hpp"

namespace rdmove::failover::conn {

TimerQueue::Key TimerQueue::at(Time time, Work work) {
  Key key;
  key.at_ = time;
  key.number_ = ++last_number_;
  const auto place = work_.emplace(std::pair(time, key.number_), std::move(work)).first;
  if (place == work_.begin() && on_earlier_) on_earlier_();
  return key;
}

void TimerQueue::cancel(Key& key) {
  if (key.number_ != 0) work_.erase({key.at_, key.number_});
  key = {};
}

std::optional<Time> TimerQueue::next() const {
  if (work_.empty()) return std::nullopt;
  return work_.begin()->first.first;
}

void TimerQueue::run_due(Time now) {
  const std::uint64_t last = last_number_;
  auto place = work_.begin();
  while (place != work_.end() && place->first.first <= now) {
    if (place->first.second > last) {
      ++place;
      continue;
    }
    const auto work = std::move(place->second);
    work_.erase(place);
    work();
    place = work_.begin();  // what ran may have cancelled any other
  }
}

}  // namespace rdmove::failover::conn
