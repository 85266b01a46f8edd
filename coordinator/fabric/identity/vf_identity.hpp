// A VF's identity as one transaction: read, planned, staged, live, verified by reading back, and undone on
// any failure. Which driver keeps what is the VfPort's. Internal to the fabric; blocks shortly, any thread.
// Two calls for one VF must not run at once (the VF's lease sees to that); for two VFs they may.
#pragma once

#include <optional>

#include "coordinator/fabric/identity/transaction.hpp"
#include "coordinator/fabric/identity/vf_port.hpp"

namespace rdmove::fabric {

/// Our own record of a VF, which the journal keeps from before it is given an identity until that is off
/// again.
struct VfMemory {
  VfSettings before;  ///< what is put back; an absent address is not known, and becomes none
  VfSettings given;   ///< what it was given: only this is ever taken off
};

/// Which settings are ours: of a plain <hostdev> all; of an <interface type='hostdev'> libvirt sets MAC and
/// VLAN when it attaches, and puts back what it found when it detaches.
enum class Owner { kAllOurs, kAddressesLibvirts };

class VfIdentity {
 public:
  VfIdentity(SysfsFiles& files, VfPort& port) : files_(files), port_(port) {}

  /// Reads and checks; changes nothing. `kept` is the record of an earlier time, if there is one.
  Result<VfMemory> plan(const VfPlace& vf, const Identity& identity, const std::optional<VfMemory>& kept);
  /// GUIDs on the VF with its link down, where the driver can do that; else nothing, with success.
  Result<void> stage(const VfPlace& vf, const Identity& identity, const VfMemory& memory);
  /// What is missing of the identity, live at the end. With addresses of libvirt's these are only looked at:
  /// kConflict when they are not what the identity says.
  Result<void> give(const VfPlace& vf, const Identity& identity, const VfMemory& memory, Owner owner);
  /// What was there before is put back where the VF still has what it was given. A VF that has another
  /// address by now keeps it, and its VLAN.
  Result<void> take(const VfPlace& vf, const Identity& identity, const std::optional<VfMemory>& memory);

 private:
  /// One call's view of the VF: what is, and how its steps are undone.
  struct Look;
  Result<Look> look(const VfPlace& vf, const VfSettings& fallback);

  Result<VfSettings> wanted(const Look& at, const Identity& identity, const VfSettings& before);
  VfSettings beforeOf(const Look& at, const VfSettings& given, const std::optional<VfMemory>& kept);
  VfSettings putBack(const Look& at, const VfSettings& given, const std::optional<VfMemory>& memory);
  std::vector<Step> stepsTo(const Look& at, const VfSettings& target);

  Step change(const VfPlace& vf, Field field, const VfSettings& to, const VfSettings& back);
  Result<void> check(const VfPlace& vf, Field field, const VfSettings& values);
  void rebindAround(const VfPlace& vf, std::vector<Step>& steps);

  SysfsFiles& files_;
  VfPort& port_;
};

}  // namespace rdmove::fabric
