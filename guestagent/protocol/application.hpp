// The words between the agent and applications in the same guest (unix socket, same framing and envelope).
// The page: docs/agent-protocol.md, "Applications".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guestagent/protocol/types.hpp"

namespace rdmove::protocol::application {

/// Application to agent, a request; answered {accepted: true}.
struct Register {
  static constexpr std::string_view method = "register";
  int version = protocol_version;
  std::string name;

  [[nodiscard]] Payload to_payload() const;
  static Result<Register> from_payload(const Payload& payload);
  bool operator==(const Register&) const = default;
};

struct Accepted {
  bool accepted = true;

  [[nodiscard]] Payload to_payload() const;
  static Result<Accepted> from_payload(const Payload& payload);
  bool operator==(const Accepted&) const = default;
};

/// On the wire by name (to_text).
enum class ReportedState { Up, Quiesced, Reconnecting, Idle };
std::string_view to_text(ReportedState state);

/// Application to agent, a notification: how it fares, for `rdmove agent VM apps`. Only its own word.
struct Report {
  static constexpr std::string_view method = "report";
  std::uint32_t connections = 0;  // that it means to keep
  std::uint32_t up = 0;           // of them; at most `connections`
  ReportedState state = ReportedState::Idle;
  std::optional<std::chrono::milliseconds> last_blackout;  // none yet: absent
  std::uint64_t resent = 0;                                // messages, since it began

  /// Numbers beyond their limits are said as the limit, so that who sends this cannot be dropped for them.
  [[nodiscard]] Payload to_payload() const;
  static Result<Report> from_payload(const Payload& payload);
  bool operator==(const Report&) const = default;
};

/// Agent to application, a request; answered {released: true} once nothing of it is left on any RDMA device.
struct Quiesce {
  static constexpr std::string_view method = "quiesce";
  MigrationId migration;
  std::chrono::milliseconds deadline{0};

  [[nodiscard]] Payload to_payload() const;
  static Result<Quiesce> from_payload(const Payload& payload);
  bool operator==(const Quiesce&) const = default;
};

struct Released {
  bool released = true;

  [[nodiscard]] Payload to_payload() const;
  static Result<Released> from_payload(const Payload& payload);
  bool operator==(const Released&) const = default;
};

/// Agent to application, notifications.
struct Removed {  // the device is about to be unplugged; nothing to do but wait for ready
  static constexpr std::string_view method = "removed";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<Removed> from_payload(const Payload&) { return Removed{}; }
};

struct Resume {  // called off: the device never left
  static constexpr std::string_view method = "resume";
  [[nodiscard]] Payload to_payload() const { return {}; }
  static Result<Resume> from_payload(const Payload&) { return Resume{}; }
};

struct Ready {  // the device is back, with these addresses
  static constexpr std::string_view method = "ready";
  MigrationId migration;
  std::vector<std::string> addresses;

  [[nodiscard]] Payload to_payload() const;
  static Result<Ready> from_payload(const Payload& payload);
  bool operator==(const Ready&) const = default;
};

}  // namespace rdmove::protocol::application
