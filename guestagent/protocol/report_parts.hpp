// An application's report to and from JSON, for `report` and for the host's `apps`. Internal to the
// protocol's .cpp files.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "guestagent/protocol/application.hpp"
#include "guestagent/protocol/field_reader.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::protocol::inline parts {

// In the order of the enum.
inline constexpr std::array<std::string_view, 4> state_names{"up", "quiesced", "reconnecting", "idle"};

inline nlohmann::json report_json(const application::Report& report) {
  const auto connections = std::min(report.connections, limits::connections);
  nlohmann::json out{{"connections", connections},
                     {"up", std::min(report.up, connections)},
                     {"state", application::to_text(report.state)},
                     {"resent", std::min(report.resent, limits::resent)}};
  if (report.last_blackout) {
    out["last_blackout_ms"] =
        std::clamp(*report.last_blackout, std::chrono::milliseconds(0), limits::deadline).count();
  }
  return out;
}

inline void read_report(FieldReader& in, application::Report& out) {
  in.integer<std::uint32_t>("connections", out.connections, 0, limits::connections);
  in.integer<std::uint32_t>("up", out.up, 0, out.connections);
  std::string state;
  in.text("state", state, limits::name_bytes);
  const auto* known = std::find(state_names.begin(), state_names.end(), state);
  if (known == state_names.end()) {
    in.refuse("state", "must be up, quiesced, reconnecting or idle");
  } else {
    out.state = static_cast<application::ReportedState>(known - state_names.begin());
  }
  in.integer<std::uint64_t>("resent", out.resent, 0, limits::resent);
  if (in.has("last_blackout_ms")) in.milliseconds("last_blackout_ms", out.last_blackout.emplace());
}

}  // namespace rdmove::protocol::inline parts
