// Data centre bridging of a port (IEEE 802.1Qaz) over dcb netlink (net/dcb/dcbnl.c): which priorities are lossless and
// how the link is shared out. Internal to the fabric.
#pragma once

#include <memory>
#include <optional>
#include <string>

struct nl_msg;  // libnl's

namespace rdmove::fabric {

/// As words that can be compared between hosts.
struct Dcb {
  std::string pfc;  ///< the priorities that are paused rather than dropped: "3,4"; "none"
  std::string ets;  ///< "class 0 (0,1,2): ets 50 %; class 1 (3): strict"; empty: the driver does not tell
  bool operator==(const Dcb&) const = default;
};

class DcbPorts {
 public:
  virtual ~DcbPorts() = default;
  /// Nothing where the driver or the kernel has no DCB. Blocks shortly, any thread.
  virtual std::optional<Dcb> of(const std::string& netdev) = 0;
};

std::unique_ptr<DcbPorts> makeDcbPorts();

/// An answer to DCB_CMD_IEEE_GET; nothing when it says nothing of PFC.
std::optional<Dcb> dcbOf(nl_msg* answer);

}  // namespace rdmove::fabric
