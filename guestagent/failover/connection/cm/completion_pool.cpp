#include "guestagent/failover/connection/cm/completion_pool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "guestagent/failover/connection/cm/call_error.hpp"

namespace rdmove::failover::conn {
namespace {

// That the first queue has room for; each one after it has twice as much.
constexpr std::uint32_t first_seats = 4;
constexpr std::uint32_t most_made = 8'192;  // completions, 64 bytes each
constexpr std::size_t batch = 32;

}  // namespace

struct CompletionPool::Queue {
  ibv_cq* cq = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t room = 0;
  std::unordered_map<std::uint32_t, std::shared_ptr<Seat>> seats;  // by queue pair
};

ibv_cq* CompletionPool::Seat::queue() const {
  return queue_->cq;
}

CompletionPool::CompletionPool(Maker maker, std::uint32_t largest)
    : maker_(std::move(maker)), largest_(std::min(largest, most_made)) {}

CompletionPool::~CompletionPool() {
  for (const auto& queue : queues_) maker_.destroy(queue->cq);
}

Result<std::shared_ptr<CompletionPool::Seat>> CompletionPool::reserve(EndpointNumber owner,
                                                                      std::uint32_t depth) {
  reclaim();
  Queue* queue = with_room(depth);
  if (!queue) queue = make(depth);
  if (!queue) return call_failed("ibv_create_cq", errno);
  queue->room -= depth;
  auto seat = std::make_shared<Seat>(owner, depth);
  seat->queue_ = queue;
  return seat;
}

CompletionPool::Queue* CompletionPool::with_room(std::uint32_t depth) {
  const auto place =
      std::find_if(queues_.begin(), queues_.end(), [&](const auto& queue) { return queue->room >= depth; });
  return place == queues_.end() ? nullptr : place->get();
}

// A device that is short of memory, or does not say the truth about its limit, may still make a smaller one.
CompletionPool::Queue* CompletionPool::make(std::uint32_t depth) {
  const auto wanted = queues_.empty() ? first_seats * depth : 2 * queues_.back()->capacity;
  auto size = std::max(depth, std::min(wanted, largest_));
  auto queue = std::make_unique<Queue>();
  queue->cq = maker_.make(size, queue.get());
  if (!queue->cq && size > depth) queue->cq = maker_.make(size = depth, queue.get());
  if (!queue->cq) return nullptr;
  queue->room = queue->capacity =
      std::max(size, static_cast<std::uint32_t>(std::max(queue->cq->cqe, 0)));  // often rounded up
  ibv_req_notify_cq(queue->cq, 0);
  return queues_.emplace_back(std::move(queue)).get();
}

// Completions of a queue pair that is destroyed stay in the queue, and take its room until they are taken
// out.
void CompletionPool::reclaim() {
  std::vector<std::shared_ptr<Seat>> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(left_);
  }
  if (left.empty()) return;
  for (const auto& queue : queues_) sort(*queue);
  for (const auto& seat : left) {
    seat->queue_->room += seat->depth_;
    const auto place = seat->queue_->seats.find(seat->queue_pair_);
    if (place != seat->queue_->seats.end() && place->second == seat) seat->queue_->seats.erase(place);
  }
}

void CompletionPool::enrol(const std::shared_ptr<Seat>& seat, std::uint32_t queue_pair) {
  auto& seats = seat->queue_->seats;
  const bool is_used_again = seats.contains(queue_pair);
  if (is_used_again) sort(*seat->queue_);
  seat->queue_pair_ = queue_pair;
  seats[queue_pair] = seat;
}

void CompletionPool::leave(std::shared_ptr<Seat> seat) {
  const std::lock_guard lock(mutex_);
  left_.push_back(std::move(seat));
}

// As many as can have been there when the next event was asked for: later ones make it.
void CompletionPool::sort(Queue& queue) {
  std::array<ibv_wc, batch> completions;
  for (std::uint32_t seen = 0; seen < queue.capacity;) {
    const int count = ibv_poll_cq(queue.cq, static_cast<int>(batch), completions.data());
    for (int i = 0; i < count; ++i) hand_over(queue, completions.at(static_cast<std::size_t>(i)));
    if (count < static_cast<int>(batch)) return;
    seen += static_cast<std::uint32_t>(count);
  }
}

void CompletionPool::hand_over(Queue& queue, const ibv_wc& completion) {
  const auto place = queue.seats.find(completion.qp_num);
  if (place == queue.seats.end()) return;  // of one that has left
  const auto& seat = place->second;
  seat->waiting_.push_back(completion);
  if (!std::exchange(seat->is_named_, true)) ready_.push_back(seat);
}

int CompletionPool::poll(Seat& seat, std::span<ibv_wc> completions) {
  auto& waiting = seat.waiting_;
  if (waiting.size() - seat.taken_ < completions.size()) sort(*seat.queue_);
  const auto count = std::min(waiting.size() - seat.taken_, completions.size());
  std::copy_n(waiting.begin() + static_cast<std::ptrdiff_t>(seat.taken_), count, completions.begin());
  seat.taken_ += count;
  if (seat.taken_ == waiting.size()) {
    waiting.clear();
    seat.taken_ = 0;
  }
  return static_cast<int>(count);
}

void CompletionPool::take_event(void* context) {
  auto& queue = *static_cast<Queue*>(context);
  ibv_req_notify_cq(queue.cq, 0);  // before looking: what completes from now on makes a new event
  sort(queue);
}

EndpointNumber CompletionPool::next_ready() {
  while (!ready_.empty()) {
    const auto seat = std::move(ready_.front());
    ready_.pop_front();
    seat->is_named_ = false;
    if (!seat->waiting_.empty()) return seat->owner_;  // else it has looked by itself
  }
  return EndpointNumber::none;
}

std::vector<EndpointNumber> CompletionPool::owners_on(const ibv_cq* cq) const {
  std::vector<EndpointNumber> owners;
  for (const auto& queue : queues_) {
    if (queue->cq != cq) continue;
    for (const auto& [queue_pair, seat] : queue->seats) owners.push_back(seat->owner_);
  }
  return owners;
}

}  // namespace rdmove::failover::conn
