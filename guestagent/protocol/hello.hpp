// hello: the first thing that either side says after every (re)open. The page: docs/agent-protocol.md,
// "hello".
#pragma once

#include <string>
#include <string_view>

#include "guestagent/protocol/types.hpp"

namespace rdmove::protocol {

/// Host to guest, a request.
struct HelloRequest {
  static constexpr std::string_view method = "hello";
  int version = protocol_version;
  std::string software;  // "rdmove 0.1.0"
  std::string host;

  [[nodiscard]] Payload to_payload() const;
  static Result<HelloRequest> from_payload(const Payload& payload);  // VersionMismatch names both versions
  bool operator==(const HelloRequest&) const = default;
};

/// The guest's answer to it; and the guest's own notification after each (re)open.
struct HelloAnswer {
  static constexpr std::string_view method = "hello";
  int version = protocol_version;
  std::string software;
  std::string boot_id;   // of the guest's kernel: changes with a reboot, not with a migration
  std::string instance;  // of this agent process: changes when the agent restarts

  [[nodiscard]] Payload to_payload() const;
  static Result<HelloAnswer> from_payload(const Payload& payload);
  bool operator==(const HelloAnswer&) const = default;
};

}  // namespace rdmove::protocol
