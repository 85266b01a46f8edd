// Datagrams of many owners on their way to one place, taken out one from each owner in turn. Who queues a
// thousand delays himself. Bounded per owner; owned by the port, no threads.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "shadowdev/gsi/mad.hpp"

namespace rdmove::gsi {

class FairQueue {
 public:
  FairQueue(std::size_t limit_per_function, std::size_t limit_of_port)
      : limit_(limit_per_function), limit_of_port_(limit_of_port) {}

  /// False: this owner's share is full, and the datagram was not taken.
  bool push(FunctionId owner, Datagram datagram) {
    auto& own = queues_[index_of(owner)];
    if (!has_room(owner)) return false;
    if (own.empty()) turns_.push_back(owner);
    own.push_back(std::move(datagram));
    return true;
  }
  [[nodiscard]] bool has_room(FunctionId owner) const {
    return queues_[index_of(owner)].size() < (owner == kPortItself ? limit_of_port_ : limit_);
  }

  struct Next {
    FunctionId owner;
    Datagram datagram;
  };
  /// The oldest of the owner whose turn it is.
  std::optional<Next> pop() {
    if (turns_.empty()) return std::nullopt;
    const FunctionId owner = turns_.front();
    turns_.pop_front();
    auto& own = queues_[index_of(owner)];
    Next next{owner, std::move(own.front())};
    own.pop_front();
    if (!own.empty()) turns_.push_back(owner);
    return next;
  }
  /// The oldest of this owner.
  std::optional<Datagram> pop(FunctionId owner) {
    auto& own = queues_[index_of(owner)];
    if (own.empty()) return std::nullopt;
    Datagram datagram = std::move(own.front());
    own.pop_front();
    if (own.empty()) std::erase(turns_, owner);
    return datagram;
  }
  void drop(FunctionId owner) {
    std::erase(turns_, owner);
    std::deque<Datagram>().swap(queues_[index_of(owner)]);
  }
  [[nodiscard]] std::size_t size(FunctionId owner) const { return queues_[index_of(owner)].size(); }
  [[nodiscard]] bool empty() const { return turns_.empty(); }

 private:
  std::size_t limit_;
  std::size_t limit_of_port_;
  std::array<std::deque<Datagram>, 256> queues_;
  std::deque<FunctionId> turns_;  // each owner with something in its queue, once
};

}  // namespace rdmove::gsi
