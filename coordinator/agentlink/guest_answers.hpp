// Between the protocol's messages and agent_link.hpp's values, and from the agent's errors to ours. Text that
// comes from the guest is made printable: people read it. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "coordinator/agentlink/agent_link.hpp"
#include "guestagent/protocol/error.hpp"
#include "guestagent/protocol/types.hpp"

namespace rdmove {

/// Control characters become '?', and more than 512 bytes are cut.
std::string printable(const std::string& text);

Result<std::vector<protocol::DeviceTarget>> targetsOf(const std::vector<AgentDevice>& devices);
std::vector<Holdout> holdoutsOf(const std::vector<protocol::Holdout>& holdouts);

Error errorOf(const protocol::Error& error, const std::string& attempted);

/// The answers, each as the payload of a response or the agent's error.
using Answer = tl::expected<protocol::Payload, protocol::Error>;
Result<PrepareOutcome> prepareOutcome(const Answer& answer);
Result<RestoreOutcome> restoreOutcome(const Answer& answer);
Result<std::vector<Holdout>> holdoutsAnswer(const Answer& answer);
Result<Traffic> trafficAnswer(const Answer& answer);
Result<std::vector<AgentApplication>> applicationsAnswer(const Answer& answer);
Result<std::string> queryAnswer(const std::string& method, const Answer& answer);

}  // namespace rdmove
