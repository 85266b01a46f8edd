// What became of a MAD. Every MAD that is handed to a port gets one of these, and each is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmove::gsi {

enum class Verdict : std::uint8_t {
  ToWire,            ///< it leaves the port, perhaps with other ids in it
  ToFunction,        ///< a function gets it
  AnsweredHere,      ///< the function has its answer; nothing left the port
  Waiting,           ///< it waits for the subnet administrator's answer to what the port asks for it
  Absorbed,          ///< it has done its work: a ReportResp, a report that nobody here wants
  Malformed,         ///< no MAD, or not what its class allows
  NoFunction,        ///< nobody here has that id or GID
  SubnetManagement,  ///< QP0, or a class of QP0: a black hole for all but the physical function
  ClassRefused,      ///< a class or method that a virtual function may not send
  ForeignGid,        ///< it claims a GID that is not the function's
  NoGrh,             ///< this port's CM strategy needs a GRH
  NoMatch,           ///< an answer or CM message that belongs to nothing known here
  OverQuota,         ///< the function has used up its share; it tries again, as for any lost datagram
};
inline constexpr std::size_t kVerdicts = static_cast<std::size_t>(Verdict::OverQuota) + 1;

std::string_view to_string(Verdict verdict);
/// From Malformed on: the MAD is gone.
inline bool is_dropped(Verdict verdict) {
  return verdict >= Verdict::Malformed;
}

struct Counters {
  std::array<std::uint64_t, kVerdicts> count{};
  std::uint64_t& operator[](Verdict verdict) { return count[static_cast<std::size_t>(verdict)]; }
  std::uint64_t operator[](Verdict verdict) const { return count[static_cast<std::size_t>(verdict)]; }
};

}  // namespace rdmove::gsi
