// What a call that can fail in the ordinary way returns: Result<T>, a value or an Error.
// An Error says what was attempted, why it failed, and what the operator can do next.
// Exceptions are kept for broken invariants and for start-up. Any thread; plain values.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rdmove {

/// Journaled and sent over the partner API: do not renumber.
enum class ErrorCode : int {
  kInternal = 0,
  kBadInput = 1,     ///< the caller's words are wrong; nothing was done
  kNotFound = 2,     ///< the named thing does not exist
  kRefused = 3,      ///< understood, possible in general, not allowed now
  kUnavailable = 4,  ///< the other side does not answer; trying again may help
  kTimeout = 5,
  kConflict = 6,      ///< somebody else has it: a job, a lease, a channel
  kHoldouts = 7,      ///< processes in the guest hold the device
  kExhausted = 8,     ///< no free VF, no slot, no room
  kIncompatible = 9,  ///< versions do not fit
  kCancelled = 10,
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string attempted;  ///< "attach device ua-rdma0 to vm1"
  std::string cause;      ///< "libvirt: No more available PCI slots"
  std::string remedy;     ///< "Add a pcie-root-port to the domain, then retry." May be empty.

  /// One line for people: "cannot ATTEMPTED: CAUSE. REMEDY"
  std::string sentence() const;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(ErrorCode code, std::string attempted, std::string cause,
                                     std::string remedy = {}) {
  return tl::unexpected<Error>(Error{code, std::move(attempted), std::move(cause), std::move(remedy)});
}

}  // namespace rdmove
