// Who wants to hear of migrations. Sessions publish on the loop thread; subscribers are called there and must
// only hand on (a gRPC stream puts it into its queue).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/journal/journal.hpp"

namespace rdmove {

struct Update {
  MigrationRecord record;
  JobProgress progress;
  std::string message;
  std::string partner_phase{};  ///< of a departure: what its arrival has just entered
};

class Bulletin {
 public:
  using Subscriber = std::function<void(const Update&)>;

  std::uint64_t subscribe(Subscriber subscriber) {
    subscribers_.emplace(++last_, std::move(subscriber));
    return last_;
  }
  void unsubscribe(std::uint64_t key) { subscribers_.erase(key); }
  void publish(const Update& update) const {
    for (const auto& [key, subscriber] : subscribers_) subscriber(update);
  }

 private:
  std::map<std::uint64_t, Subscriber> subscribers_;
  std::uint64_t last_ = 0;
};

}  // namespace rdmove
