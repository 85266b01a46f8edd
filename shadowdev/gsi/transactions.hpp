// One function's requests that wait for an answer. Each leaves the port with a TransactionID of the port's
// own, so that functions which chose the same one do not get each other's answers; the answer gets the
// original back. Owned by the port; no threads.
//
// The id on the wire, of which the upper 32 bits are 0, because user space's MAD layer overwrites them
// (ib_umad puts its agent's id there):
//
//   31..24 function | 23..12 how often the slot was used | 11..0 slot
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shadowdev/gsi/mad.hpp"

namespace rdmove::gsi {

class Transactions {
 public:
  static constexpr std::uint16_t kMostSlots = 4096;

  /// slots: 1 to kMostSlots. lifetime: after that an entry is free for others, whether it was answered or
  /// not. first_use: where the use counts begin; at random, so that an answer to this port's former life
  /// finds none.
  Transactions(FunctionId owner, std::uint16_t slots, milliseconds lifetime, std::uint16_t first_use = 0);

  /// The wire's id for this request. One with the class and TransactionID of an open one is its retry, or
  /// another segment of its exchange (RMPP): it keeps the id and lives longer. Nothing: all slots are in use.
  std::optional<TransactionId> open(const Datagram& request, TimePoint now);

  /// The original id for this answer, if it answers something that is open: slot and use count, class,
  /// method, attribute and the LID that was asked. An answer in segments ends its entry with the last one, or
  /// by time.
  std::optional<TransactionId> close(const Datagram& answer, TimePoint now);

  /// Frees what is too old. Returns how many were never answered.
  std::size_t expire(TimePoint now);
  /// Another function gets this number. The use counts go on, so that late answers are not its own.
  void clear();
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] std::size_t open_count() const { return slots_.size() - free_count_; }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

  static FunctionId owner_of(TransactionId on_wire) {
    return FunctionId{static_cast<std::uint8_t>(static_cast<std::uint64_t>(on_wire) >> 24U)};
  }

 private:
  struct Key {
    TransactionId original;
    ManagementClass of;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return static_cast<std::size_t>(static_cast<std::uint64_t>(key.original) * 0x9E3779B97F4A7C15U) ^
             static_cast<std::size_t>(key.of);
    }
  };
  struct Slot {
    Key key{};
    Method answer{};
    std::uint16_t attribute = 0;
    Lid asked{};
    TimePoint deadline{};
    std::uint16_t uses = 0;  // 12 bits
    bool is_open = false;
    bool is_answered = false;  // the last segment came; its acknowledgement may still leave
  };

  [[nodiscard]] TransactionId on_wire(std::uint16_t slot) const;
  std::optional<std::uint16_t> take_slot();
  void release(std::uint16_t slot);

  FunctionId owner_;
  milliseconds lifetime_;
  std::vector<Slot> slots_;
  // A ring: the slot that has been free for longest is used first, so that a late answer finds another use
  // count.
  std::vector<std::uint16_t> free_;
  std::size_t free_head_ = 0;
  std::size_t free_count_ = 0;
  std::unordered_map<Key, std::uint16_t, KeyHash> by_original_;
};

}  // namespace rdmove::gsi
