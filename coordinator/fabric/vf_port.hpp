// A VF's Ethernet identity as its PF holds it: read, and taken away. Internal to the fabric; calls block
// shortly.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove::fabric {

struct VfState {
  std::optional<MacAddress> mac;  ///< absent: the PF's link layer is not Ethernet
  int vlan = 0;                   ///< 0: none
};

class VfPort {
 public:
  virtual ~VfPort() = default;
  virtual Result<VfState> read(const std::string& pf_netdev, unsigned index) = 0;
  /// Asks for MAC 00:00:00:00:00:00 and no VLAN; what came of it is for read() to say.
  virtual Result<void> clear(const std::string& pf_netdev, unsigned index) = 0;
};

/// Over rtnetlink.
std::unique_ptr<VfPort> makeNetlinkVfPort();

}  // namespace rdmove::fabric
