#include "coordinator/agentlink/guest_answers.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/limits.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove {
namespace {

constexpr std::size_t kMaxText = 512;

ErrorCode codeOf(protocol::ErrorCode code) {
  switch (code) {
    case protocol::ErrorCode::Holdouts:
      return ErrorCode::kHoldouts;
    case protocol::ErrorCode::DeviceNotFound:
      return ErrorCode::kNotFound;
    case protocol::ErrorCode::Busy:
      return ErrorCode::kConflict;
    case protocol::ErrorCode::DeadlinePassed:
      return ErrorCode::kTimeout;
    case protocol::ErrorCode::VersionMismatch:
    case protocol::ErrorCode::MethodNotFound:
      return ErrorCode::kIncompatible;
    default:
      return ErrorCode::kInternal;
  }
}

/// A payload that does not parse is the agent's fault, whatever code the parser gives it.
Error malformed(const protocol::Error& error, const std::string& attempted) {
  return {ErrorCode::kInternal, attempted, "the agent's answer is malformed: " + printable(error.message),
          "Install the same rdmove release on host and guest."};
}

template <class M>
Result<M> read(const Answer& answer, const std::string& attempted) {
  if (!answer) return tl::unexpected(errorOf(answer.error(), attempted));
  auto message = M::from_payload(*answer);
  if (!message) return tl::unexpected(malformed(message.error(), attempted));
  return std::move(*message);
}

std::vector<std::string> printable(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(rdmove::printable(text));
  return all;
}

DeviceTraffic trafficOf(const std::string& rdma, unsigned port, const protocol::PortTraffic& traffic) {
  return {rdmove::printable(rdma), port, rdmove::printable(traffic.data_of), traffic.values};
}

// Its GIDs are of sysfs's form, the protocol sees to that: nothing to escape.
std::optional<SubnetPort> portOf(const std::optional<protocol::SubnetPort>& port) {
  if (!port) return std::nullopt;
  return SubnetPort{port->lid, port->pkeys, port->gids};
}

protocol::DeviceIdentity identityOf(const AgentDevice& device) {
  if (!device.port_guid) return protocol::MacAddress(device.mac.bytes());
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes.at(i) = static_cast<std::uint8_t>(device.port_guid->value() >> (56 - 8 * i));
  return protocol::PortGuid(bytes);
}

}  // namespace

std::string printable(const std::string& text) {
  std::string out = text.substr(0, kMaxText);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

Result<std::vector<protocol::DeviceTarget>> targetsOf(const std::vector<AgentDevice>& devices) {
  std::vector<protocol::DeviceTarget> targets;
  if (devices.empty() || devices.size() > protocol::limits::devices) {
    return failure(ErrorCode::kBadInput, "ask the agent",
                   fmt::format("{} devices, not 1 to {}", devices.size(), protocol::limits::devices));
  }
  for (const AgentDevice& device : devices) {
    targets.push_back({device.alias.str(), identityOf(device),
                       device.soft_roce ? protocol::DeviceKind::SoftRoce : protocol::DeviceKind::Vf,
                       device.may_have_new_gids});
  }
  return targets;
}

std::vector<Holdout> holdoutsOf(const std::vector<protocol::Holdout>& holdouts) {
  std::vector<Holdout> all;
  for (const auto& each : holdouts) all.push_back({each.pid, printable(each.name), printable(each.device)});
  return all;
}

Error errorOf(const protocol::Error& error, const std::string& attempted) {
  if (error.code == protocol::ErrorCode::MethodNotFound) {
    return {ErrorCode::kIncompatible, attempted,
            "the guest's rdmove-agent is too old to know this request; update it in the guest", ""};
  }
  Error out{codeOf(error.code), attempted, "the agent: " + printable(error.message), {}};
  if (out.code == ErrorCode::kIncompatible) out.remedy = "Install the same rdmove release on host and guest.";
  if (out.code == ErrorCode::kConflict) out.remedy = "Wait for the other migration, or see rdmove list.";
  return out;
}

Result<PrepareOutcome> prepareOutcome(const Answer& answer) {
  const std::string attempted = "prepare the guest";
  if (!answer && answer.error().code == protocol::ErrorCode::Holdouts) {
    const auto data = protocol::HoldoutsResult::from_payload(answer.error().data);
    // An empty list would read as "all let go".
    if (!data || data->holdouts.empty()) return tl::unexpected(errorOf(answer.error(), attempted));
    return PrepareOutcome{holdoutsOf(data->holdouts), 0, {}, {}, {}};
  }
  const auto result = read<protocol::PrepareResult>(answer, attempted);
  if (!result) return tl::unexpected(result.error());
  PrepareOutcome outcome{
      {}, static_cast<int>(result->applications), holdoutsOf(result->holdouts), result->took, {}};
  for (const auto& device : result->traffic) {
    outcome.traffic.push_back(trafficOf(device.rdma, device.port, device.traffic));
  }
  return outcome;
}

Result<RestoreOutcome> restoreOutcome(const Answer& answer) {
  const auto result = read<protocol::RestoreResult>(answer, "restore the guest's network");
  if (!result) return tl::unexpected(result.error());
  RestoreOutcome outcome;
  outcome.took = result->took;
  for (const auto& device : result->devices) {
    RestoredDevice restored{DeviceAlias(printable(device.alias)),
                            printable(device.netdev),
                            printable(device.rdma),
                            {},
                            printable(device.addresses)};
    for (const auto& gid : device.gids) restored.gids.push_back(printable(gid.gid));
    restored.managed_by = printable(device.managed_by);
    restored.port_before = portOf(device.port_before);
    restored.port = portOf(device.port);
    outcome.devices.push_back(std::move(restored));
  }
  outcome.warnings = printable(result->warnings);
  return outcome;
}

Result<std::vector<Holdout>> holdoutsAnswer(const Answer& answer) {
  const auto result = read<protocol::HoldoutsResult>(answer, "ask the agent for holdouts");
  if (!result) return tl::unexpected(result.error());
  return holdoutsOf(result->holdouts);
}

Result<Traffic> trafficAnswer(const Answer& answer) {
  const auto result = read<protocol::CountersResult>(answer, "ask the agent for counters");
  if (!result) return tl::unexpected(result.error());
  Traffic traffic;
  for (const auto& device : result->devices) {
    traffic.push_back(trafficOf(device.rdma, device.port, device.traffic));
  }
  return traffic;
}

Result<std::vector<AgentApplication>> applicationsAnswer(const Answer& answer) {
  const auto result = read<protocol::AppsResult>(answer, "ask the agent for apps");
  if (!result) return tl::unexpected(result.error());
  std::vector<AgentApplication> applications;
  for (const auto& application : result->applications) {
    const auto report = application.report.value_or(protocol::application::Report{});
    applications.push_back({application.pid, printable(application.name), report.connections, report.up});
  }
  return applications;
}

Result<std::string> queryAnswer(const std::string& method, const Answer& answer) {
  const std::string attempted = "ask the agent for " + method;
  if (!answer) return tl::unexpected(errorOf(answer.error(), attempted));
  const auto checked = method == protocol::StatusRequest::method
                           ? protocol::StatusResult::from_payload(*answer).map([](const auto&) {})
                       : method == protocol::HoldoutsRequest::method
                           ? protocol::HoldoutsResult::from_payload(*answer).map([](const auto&) {})
                       : method == protocol::AppsRequest::method
                           ? protocol::AppsResult::from_payload(*answer).map([](const auto&) {})
                       : method == protocol::PeersRequest::method
                           ? protocol::PeersResult::from_payload(*answer).map([](const auto&) {})
                           : protocol::CountersResult::from_payload(*answer).map([](const auto&) {});
  if (!checked) return tl::unexpected(malformed(checked.error(), attempted));
  return answer->text();
}

}  // namespace rdmove
