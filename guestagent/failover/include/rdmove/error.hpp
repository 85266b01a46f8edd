// Errors of librdmove. Every expected failure comes back as one; nothing is thrown.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace rdmove::failover {

/// Also the C API's return values (negated there): never renumber.
enum class ErrorCode : int {
  InvalidArgument = 1,      ///< the call makes no sense as it is; the message says what would
  TooLarge = 2,             ///< a message above the channel's limit, private data above 16 bytes
  WouldBlock = 3,           ///< no room until the peer has acknowledged more; wait for writable()
  NotUp = 4,                ///< the connection has no queue pair at the moment
  Gone = 5,                 ///< the connection or channel has ended for good
  NoSuchRegion = 6,         ///< a region that this side has not registered, or the peer has not shown
  OutOfBounds = 7,          ///< reaches beyond a region's end, or needs a right that it does not give
  AddressNotAvailable = 8,  ///< the local address is not on this machine (yet)
  NoDevice = 9,             ///< no RDMA device carries this address (yet)
  Exists = 10,              ///< the name is taken
  System = 11,              ///< a call into the kernel or a library failed; the message says which, and errno
};

struct Error {
  ErrorCode code = ErrorCode::System;
  std::string message;  ///< what was attempted, why it failed, what to do
  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected(Error{code, std::move(message)});
}

}  // namespace rdmove::failover
