// What two shadows say to each other about the ends of a connection. Each question has one answer; the link
// has proven from which GID a question comes. What is read here was written by somebody else: every list is
// bounded, and what a peer may change is in peer_desk.hpp. Persisted nowhere; never renumber. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shadowdev/model/problem.hpp"

namespace rdmove::shadow {

inline constexpr std::uint8_t kPeerVersion = 1;
inline constexpr std::size_t kMostPairs = 256;
inline constexpr std::size_t kLongestMessage = 64 + 8 * kMostPairs;

enum class Ask : std::uint8_t {
  Meet = 1,         ///< a QP connects: is its other end shadowed, and where is it?
  Hold = 2,         ///< stop sending, let my marker in, send yours
  Drained = 3,      ///< has your marker come back, and which PSNs do you have?
  Freeze = 4,       ///< nothing is under way: take the QP away
  Reconnect = 5,    ///< here is where mine is now
  Go = 6,           ///< mine receives: send what you have held
  Unhold = 7,       ///< the move is off
  Keys = 8,         ///< what are these remote keys now?
  Numbers = 9,      ///< UD: my QPs are here now
  Revoke = 10,      ///< my marker has come back: take back what let it in
  Gone = 11,        ///< my end went with its device
  Disconnect = 12,  ///< my program has disconnected, and its kernel knows nothing of us any more
  Away = 13,        ///< UD: my device leaves, keep your datagrams
  Back = 14,        ///< UD: it stays; when it has been away, Numbers says so
};

enum class Said : std::uint8_t {
  Yes = 0,
  NotYet = 1,    ///< ask again
  Refused = 2,   ///< not yours to ask, or not now
  NotThere = 3,  ///< no such QP, or it is not connected to yours
};

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  ///< as programs know it, physical

struct Question {
  Ask ask = Ask::Meet;
  std::uint32_t from_number = 0;  ///< QP numbers as programs know them
  std::uint32_t to_number = 0;
  std::uint32_t from_epoch = 0;  ///< that the asking end will have after this move
  std::uint32_t physical_number = 0;
  std::uint32_t psn = 0;
  Pairs pairs;
  bool operator==(const Question&) const = default;
};

struct Answer {
  Said said = Said::Refused;
  bool drained = false;
  bool moved = false;
  std::uint32_t send_psn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t epoch = 0;
  std::uint32_t physical_number = 0;
  Pairs pairs;
  bool operator==(const Answer&) const = default;
};

std::vector<std::byte> encode(const Question& question);
std::vector<std::byte> encode(const Answer& answer);
Result<Question> decode_question(std::span<const std::byte> bytes);
Result<Answer> decode_answer(std::span<const std::byte> bytes);

}  // namespace rdmove::shadow
