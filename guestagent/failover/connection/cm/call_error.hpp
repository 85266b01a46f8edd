// errno as an Error. NoDevice and AddressNotAvailable are what a device that is away looks like.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "rdmove/error.hpp"

namespace rdmove::failover::conn {

inline tl::unexpected<Error> call_failed(const char* call, int error) {
  const auto code = error == ENODEV || error == ENXIO                ? ErrorCode::NoDevice
                    : error == EADDRNOTAVAIL || error == ENETUNREACH ? ErrorCode::AddressNotAvailable
                    : error == EINVAL || error == E2BIG              ? ErrorCode::InvalidArgument
                    : error == EADDRINUSE                            ? ErrorCode::Exists
                                                                     : ErrorCode::System;
  return fail(code, std::string(call) + ": " + std::strerror(error));
}

}  // namespace rdmove::failover::conn
