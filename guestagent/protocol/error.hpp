// The one error of the agent channel: what travels in a JSON-RPC error object.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "guestagent/protocol/payload.hpp"

namespace rdmove::protocol {

// On the wire: do not renumber. The page: docs/agent-protocol.md, "Errors".
enum class ErrorCode : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  Holdouts = -32010,         // data: HoldoutsResult
  DeviceNotFound = -32011,   // data: {alias, mac}
  Busy = -32012,             // data: {migration} that is in the way
  DeadlinePassed = -32013,   // data: MissingPiece
  VersionMismatch = -32014,  // data: {version} that this side speaks
};

struct Error {
  ErrorCode code = ErrorCode::InternalError;
  std::string message;
  Payload data{};

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, Payload data = {}) {
  return tl::unexpected(Error{code, std::move(message), std::move(data)});
}

}  // namespace rdmove::protocol
