// The conversation with one VM's guest agent. Every call is asynchronous: it returns at once and answers on
// the loop thread, exactly once (answer, error of the agent, deadline, or link lost for good). A link
// re-opens its channel and says hello again after a migration; requests are sent again across a hello.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/subnet_port.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/base/vf_values.hpp"

namespace rdmove {

struct Holdout {
  int pid = 0;
  std::string name;
  std::string device;
};

struct AgentDevice {
  DeviceAlias alias;
  MacAddress mac;
  bool soft_roce = true;            ///< bridge pools: the agent makes the rxe device itself
  std::optional<Guid> port_guid{};  ///< the guest's device is on InfiniBand and known by this instead
  bool may_have_new_gids = false;   ///< restore: another device's GIDs are no reason to wait
};

struct RestoredDevice {
  DeviceAlias alias;
  std::string netdev;
  std::string rdma;
  std::vector<std::string> gids;
  std::vector<std::string> addresses;
  std::string managed_by{};                 ///< who in the guest put the addresses back; empty: the agent
  std::optional<SubnetPort> port_before{};  ///< as prepare found it; both only on InfiniBand
  std::optional<SubnetPort> port{};
};

/// What one port of the guest's has counted, by the names of docs/agent-protocol.md ("packets_in").
struct DeviceTraffic {
  std::string rdma;
  unsigned port = 1;
  std::string data_of;  ///< "port", "interface" (all of its traffic, not only RDMA), or empty
  std::map<std::string, std::uint64_t> values;
  bool operator==(const DeviceTraffic&) const = default;
};
using Traffic = std::vector<DeviceTraffic>;

/// A registered application, by its own word but for the pid.
struct AgentApplication {
  int pid = 0;
  std::string name;
  unsigned connections = 0;
  unsigned up = 0;
};

/// What prepare answers: everything let go, or these processes did not (nothing was changed then).
struct PrepareOutcome {
  std::vector<Holdout> holdouts;
  int applications = 0;
  std::vector<Holdout> overridden;    ///< with force: who still holds on, although the guest is prepared
  std::chrono::milliseconds took{0};  ///< in the guest's own clock
  Traffic traffic;                    ///< of all its devices, when prepare began
};

struct RestoreOutcome {
  std::vector<RestoredDevice> devices;
  std::chrono::milliseconds took{0};
  std::vector<std::string> warnings{};  ///< what is not as it was, and RDMA does not need: a route, a rule
};

class AgentLink {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;
  using Milliseconds = std::chrono::milliseconds;

  virtual ~AgentLink() = default;  ///< outstanding requests are dropped without an answer

  virtual void prepare(const MigrationId&, const std::vector<AgentDevice>&, Milliseconds deadline, bool force,
                       Done<PrepareOutcome>) = 0;
  virtual void restore(const MigrationId&, const std::vector<AgentDevice>&, Milliseconds deadline,
                       Done<RestoreOutcome>) = 0;
  virtual void holdouts(Milliseconds deadline, Done<std::vector<Holdout>>) = 0;
  virtual void traffic(Milliseconds deadline, Done<Traffic>) = 0;
  /// kIncompatible: the guest's agent is too old to say.
  virtual void applications(Milliseconds deadline, Done<std::vector<AgentApplication>>) = 0;
  /// "status", "apps", "counters", "holdouts" or "peers": the agent's own JSON object, checked for size and
  /// depth, passed on to people.
  virtual void query(const std::string& method, Milliseconds deadline, Done<std::string>) = 0;
  /// The domain is paused: deadlines stand still until it runs again.
  virtual void setPaused(bool) {}
};

class AgentLinks {
 public:
  virtual ~AgentLinks() = default;
  /// One link per domain at a time; kConflict is answered to its first request when another program has the
  /// port.
  virtual std::unique_ptr<AgentLink> open(const DomainUuid&) = 0;
};

}  // namespace rdmove
