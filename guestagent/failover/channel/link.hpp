// What the protocol needs of the world: a transport that comes and goes, a clock, and somebody to tell. The
// session calls these on the loop's thread; it is never called back from inside post_*(), but may be from
// inside break_link().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rdmove/connection.hpp"

namespace rdmove::failover::channel {

using Clock = std::chrono::steady_clock;

/// Comes back with the completion of what was posted; below 2^62.
enum class Token : std::uint64_t {};
/// A place in the slab of receives.
enum class ReceiveSlot : std::uint32_t {};
/// A place in this side's region table.
enum class RegionPlace : std::uint8_t {};

struct OneSidedWork {
  RegionPlace local{};
  std::size_t local_offset = 0;
  std::uint32_t length = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
};

/// One reliable, ordered queue pair at a time. What was posted and is not reported before link_down() may
/// have been executed or not. False: it could not be posted, and the link is of no use any more.
class Link {
 public:
  virtual ~Link() = default;
  virtual bool post_send(std::span<const std::byte> frame, Token token) = 0;
  virtual bool post_receive(ReceiveSlot slot) = 0;
  virtual bool post_write(const OneSidedWork& work, Token token) = 0;
  virtual bool post_read(const OneSidedWork& work, Token token) = 0;
  [[nodiscard]] virtual std::uint32_t remote_key(RegionPlace place) const = 0;
  /// The peer broke a rule, or posting failed: link_down() must follow, at once or later.
  virtual void break_link(const std::string& why) = 0;
};

class Timekeeper {
 public:
  virtual ~Timekeeper() = default;
  virtual Clock::time_point now() = 0;
  /// Call Session::timer() then. An earlier call is replaced only by an earlier time.
  virtual void wake_at(Clock::time_point when) = 0;
};

/// What the session's owner is told. Any of these may call back into the session.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void ready() = 0;  ///< greeted; the peer's regions are known
  virtual void received(std::span<const std::byte> message) = 0;
  virtual void acknowledged(std::uint64_t number) = 0;
  virtual void writable() = 0;
  virtual void regions_changed() = 0;
  virtual void drained() = 0;                       ///< after quiesce(): all that was posted has completed
  virtual void finished() = 0;                      ///< after finish(): the peer has delivered all of it
  virtual void failed(const std::string& why) = 0;  ///< the peer keeps breaking rules: end it
};

}  // namespace rdmove::failover::channel
