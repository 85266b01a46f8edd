// Addresses that came by DHCP: found at capture, confirmed with the server after the restore. Implemented by
// LeaseConfirmations; faked in tests. Loop thread.
#pragma once

#include <functional>

#include "guestagent/agent/dhcp/origin.hpp"

namespace rdmove::agent {

class Leases {
 public:
  virtual ~Leases() = default;

  /// Also ends what is still being asked on this device.
  virtual std::vector<dhcp::Lease> find(const CapturedLink& link) = 0;

  /// Returns at once; the captured address is in place and in use. `warn` gets what an operator should know,
  /// within the call or seconds later or never.
  virtual void confirm(const RestoredLink& link, const dhcp::Lease& lease,
                       std::function<void(const std::string&)> warn) = 0;
};

/// Changes to an interface's leased address. Implemented by LeasedAddressTable; faked in tests.
class LeasedAddresses {
 public:
  virtual ~LeasedAddresses() = default;

  /// 0 or an errno. `address` as in CapturedItem::text.
  virtual int extend(int index, const std::string& address, std::chrono::seconds lifetime) = 0;
  /// The old address goes; default routes over the interface follow to the new router.
  virtual int replace(int index, const std::string& old, const dhcp::Reply& lease) = 0;
};

}  // namespace rdmove::agent
