// What carries questions and answers of shadows: between a process and its guest's agent (unix socket), and
// between the agents of two guests (TCP). The page: docs/shadow-link.md. Whoever sends may be anybody: a
// frame has one shape and a limit, and what does not fit ends the connection. Never renumber. Plain values,
// any thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace rdmove::shadow {

inline constexpr std::uint8_t kLinkVersion = 1;

enum class FrameKind : std::uint8_t {
  Here = 1,      ///< process to agent: I have a device with GID `to`
  Question = 2,  ///< `from` asks `to`; the payload is a peer message
  Answer = 3,    ///< to the question of this number
  Nobody = 4,    ///< likewise: nobody could be asked
};

struct Frame {
  FrameKind kind = FrameKind::Nobody;
  std::uint32_t id = 0;  ///< of the question, chosen by who sends it on this connection
  ibv_gid from{};
  ibv_gid to{};
  std::vector<std::byte> payload;
};

std::vector<std::byte> encode(const Frame& frame);

/// Puts frames together from what a stream brings.
class FrameSplitter {
 public:
  /// False: these are no frames, and the connection is to be ended.
  bool push(std::span<const std::byte> bytes);
  std::optional<Frame> next();
  void reset();

 private:
  std::vector<std::byte> bytes_;
  std::deque<Frame> ready_;
};

}  // namespace rdmove::shadow
