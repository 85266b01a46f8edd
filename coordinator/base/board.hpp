// News for whoever subscribed. Publishing calls each of them, in the order in which they came, and on the
// same thread; they must only hand on, and neither subscribe nor unsubscribe meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace rdmove {

template <class... News>
class Board {
 public:
  using Subscriber = std::function<void(const News&...)>;

  /// Gives the key to unsubscribe with, never 0.
  std::uint64_t subscribe(Subscriber subscriber) {
    subscribers_.emplace(++last_, std::move(subscriber));
    return last_;
  }
  void unsubscribe(std::uint64_t key) { subscribers_.erase(key); }
  void publish(const News&... news) const {
    for (const auto& [key, subscriber] : subscribers_) subscriber(news...);
  }

 private:
  std::map<std::uint64_t, Subscriber> subscribers_;
  std::uint64_t last_ = 0;
};

}  // namespace rdmove
