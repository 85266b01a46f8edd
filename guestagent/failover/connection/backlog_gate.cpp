#include "guestagent/failover/connection/backlog_gate.hpp"

#include <utility>

namespace rdmove::failover::conn {
namespace {
constexpr std::size_t untold = 32;  // calls at once to a peer that has not told its backlog yet
}

struct BacklogGate::Lane {
  std::size_t limit = untold;
  std::size_t inside = 0;
  std::list<Ticket*> waiting;
  bool admitting = false;

  void admit() {
    if (admitting) return;  // a go() that ends or begins calls: the loop below sees to them
    admitting = true;
    while (!waiting.empty() && inside < limit) {
      Ticket* const first = waiting.front();
      waiting.pop_front();
      first->inside_ = true;
      ++inside;
      std::exchange(first->go_, nullptr)();
    }
    admitting = false;
  }
};

BacklogGate::BacklogGate() = default;
BacklogGate::~BacklogGate() = default;

BacklogGate::Ticket::Ticket(std::shared_ptr<Lane> lane, Go go) : lane_(std::move(lane)), go_(std::move(go)) {
  place_ = lane_->waiting.insert(lane_->waiting.end(), this);
}

BacklogGate::Ticket::~Ticket() {
  if (inside_) {
    --lane_->inside;
    lane_->admit();
  } else {
    lane_->waiting.erase(place_);
  }
}

std::shared_ptr<BacklogGate::Lane> BacklogGate::lane_of(const std::string& peer) {
  if (const auto known = lanes_.find(peer); known != lanes_.end()) return known->second;
  if (lanes_.size() >= forget_at_) {
    std::erase_if(
        lanes_, [](const auto& entry) { return entry.second->inside == 0 && entry.second->waiting.empty(); });
    forget_at_ = lanes_.size() + most_idle_peers;
  }
  return lanes_[peer] = std::make_shared<Lane>();
}

std::unique_ptr<BacklogGate::Ticket> BacklogGate::enter(const std::string& peer, Go go) {
  const auto lane = lane_of(peer);
  auto ticket = std::make_unique<Ticket>(lane, std::move(go));
  lane->admit();
  return ticket;
}

void BacklogGate::learn(const std::string& peer, std::uint16_t backlog) {
  const auto lane = lane_of(peer);
  lane->limit = std::max<std::size_t>(1, backlog);
  lane->admit();
}

std::size_t BacklogGate::in_flight(const std::string& peer) const {
  const auto lane = lanes_.find(peer);
  return lane == lanes_.end() ? 0 : lane->second->inside;
}

}  // namespace rdmove::failover::conn
