#include "shadowdev/gsi/transactions.hpp"

#include <algorithm>

#include "shadowdev/gsi/sa.hpp"

namespace rdmove::gsi {
namespace {

constexpr std::uint32_t kSlotBits = 12;
constexpr std::uint32_t kSlotMask = (1U << kSlotBits) - 1U;
constexpr std::uint16_t kUsesMask = 0x0FFF;

}  // namespace

Transactions::Transactions(FunctionId owner, std::uint16_t slots, milliseconds lifetime,
                           std::uint16_t first_use)
    : owner_(owner), lifetime_(lifetime), slots_(std::clamp<std::uint16_t>(slots, 1, kMostSlots)) {
  free_.resize(slots_.size());
  for (std::size_t i = 0; i < free_.size(); ++i) free_[i] = static_cast<std::uint16_t>(i);
  for (Slot& slot : slots_) slot.uses = first_use & kUsesMask;
  free_count_ = free_.size();
  by_original_.reserve(slots_.size());
}

TransactionId Transactions::on_wire(std::uint16_t slot) const {
  return TransactionId{std::uint32_t{static_cast<std::uint8_t>(owner_)} << 24U |
                       std::uint32_t{slots_[slot].uses} << kSlotBits | slot};
}

std::optional<std::uint16_t> Transactions::take_slot() {
  if (free_count_ == 0) {
    // An exchange whose last segment came only waits for its acknowledgement to be repeated.
    const auto done = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.is_answered; });
    if (done == slots_.end()) return std::nullopt;
    release(static_cast<std::uint16_t>(done - slots_.begin()));
  }
  const std::uint16_t slot = free_[free_head_];
  free_head_ = (free_head_ + 1) % free_.size();
  --free_count_;
  return slot;
}

void Transactions::release(std::uint16_t slot) {
  by_original_.erase(slots_[slot].key);
  slots_[slot].is_open = slots_[slot].is_answered = false;
  free_[(free_head_ + free_count_) % free_.size()] = slot;
  ++free_count_;
}

std::optional<TransactionId> Transactions::open(const Datagram& request, TimePoint now) {
  const Mad& mad = request.mad;
  const auto answer = response_to(mad.method());
  if (!answer) return std::nullopt;
  const Key key{mad.transaction(), mad.management_class()};
  std::uint16_t slot = 0;
  if (const auto known = by_original_.find(key); known != by_original_.end()) {
    slot = known->second;
    const bool is_same = slots_[slot].answer == *answer && slots_[slot].attribute == mad.attribute() &&
                         slots_[slot].asked == request.remote;
    // Another request under an old number: the old one will not be asked for any more.
    if (!is_same || (slots_[slot].is_answered && !rmpp::is_active(mad))) {
      release(slot);
      return open(request, now);
    }
  } else {
    const auto taken = take_slot();
    if (!taken) return std::nullopt;
    slot = *taken;
    Slot& fresh = slots_[slot];
    fresh.key = key;
    fresh.answer = *answer;
    fresh.attribute = mad.attribute();
    fresh.asked = request.remote;
    fresh.uses = static_cast<std::uint16_t>((fresh.uses + 1U) & kUsesMask);
    fresh.is_open = true;
    by_original_.emplace(key, slot);
  }
  slots_[slot].deadline = now + lifetime_;
  return on_wire(slot);
}

std::optional<TransactionId> Transactions::close(const Datagram& answer, TimePoint now) {
  const Mad& mad = answer.mad;
  const auto low = static_cast<std::uint32_t>(static_cast<std::uint64_t>(mad.transaction()));
  const std::uint32_t index = low & kSlotMask;
  if (index >= slots_.size()) return std::nullopt;
  const auto slot = static_cast<std::uint16_t>(index);
  Slot& entry = slots_[slot];
  if (!entry.is_open || static_cast<std::uint32_t>(static_cast<std::uint64_t>(on_wire(slot))) != low)
    return std::nullopt;
  if (entry.key.of != mad.management_class() || entry.answer != mad.method() ||
      entry.attribute != mad.attribute() || entry.asked != answer.remote || entry.deadline <= now) {
    return std::nullopt;
  }
  const TransactionId original = entry.key.original;
  if (!rmpp::is_active(mad)) {
    if (entry.is_answered) return std::nullopt;
    release(slot);
    return original;
  }
  switch (rmpp::type(mad)) {
    case rmpp::kStop:
    case rmpp::kAbort:
      release(slot);
      break;
    case rmpp::kData:
      entry.is_answered = entry.is_answered || rmpp::is_last(mad);
      [[fallthrough]];
    default:
      entry.deadline = now + lifetime_;
  }
  return original;
}

std::size_t Transactions::expire(TimePoint now) {
  std::size_t unanswered = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].is_open || slots_[i].deadline > now) continue;
    if (!slots_[i].is_answered) ++unanswered;
    release(static_cast<std::uint16_t>(i));
  }
  return unanswered;
}

void Transactions::clear() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is_open) release(static_cast<std::uint16_t>(i));
  }
}

std::optional<TimePoint> Transactions::next_deadline() const {
  std::optional<TimePoint> next;
  if (free_count_ == slots_.size()) return next;
  for (const Slot& slot : slots_) {
    if (slot.is_open && (!next || slot.deadline < *next)) next = slot.deadline;
  }
  return next;
}

}  // namespace rdmove::gsi
