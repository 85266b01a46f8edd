// JSON-RPC 2.0 as both channels use it (virtio-serial and the application socket): one object a line, no
// batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "guestagent/protocol/error.hpp"

namespace rdmove::protocol {

using RequestId = std::variant<std::int64_t, std::string>;
std::string to_text(const RequestId& id);

struct Request {
  RequestId id;
  std::string method;
  Payload params;
  bool operator==(const Request&) const = default;
};

struct Notification {
  std::string method;
  Payload params;
  bool operator==(const Notification&) const = default;
};

struct Response {
  RequestId id;
  Payload result;
  bool operator==(const Response&) const = default;
};

struct ErrorResponse {
  std::optional<RequestId> id;  // none: the request's id could not be read
  Error error;
  bool operator==(const ErrorResponse&) const = default;
};

using Envelope = std::variant<Request, Notification, Response, ErrorResponse>;

/// On failure the error is the very answer to send back (never answer an answer, though: see DecodeFailure).
struct DecodeFailure {
  ErrorResponse answer;
  bool was_answer = false;  // the broken line was itself a response: log it, send nothing
};

tl::expected<Envelope, DecodeFailure> decode(std::string_view line);

/// One line with its '\n'. InternalError if it would be longer than limits::line_bytes.
Result<std::string> encode(const Envelope& envelope);

/// Typed shorthands. M is a struct of hello.hpp, inventory.hpp, move.hpp, events.hpp or application.hpp.
template <class M>
Request request(RequestId id, const M& message) {
  return {std::move(id), std::string(M::method), message.to_payload()};
}
template <class M>
Notification notification(const M& message) {
  return {std::string(M::method), message.to_payload()};
}

}  // namespace rdmove::protocol
