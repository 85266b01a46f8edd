// VFs that still have the identity of a VM which is gone: ended and undefined here, or taken elsewhere by
// another mover. What was before is put back, since the VM may be started on another host. Loop thread only;
// owned by the coordinator.
#pragma once

#include <memory>

#include "coordinator/migration/session.hpp"
#include "coordinator/migration/vf_records.hpp"

namespace rdmove {

class IdentitySweep {
 public:
  explicit IdentitySweep(Services& services);

  /// Asks libvirt who has the VFs that the journal has a record of. Does nothing while a migration of this
  /// host is not over: its own steps see to its VFs, and its end is a time to look again.
  void look();

 private:
  void takeOff(IdentityRecords records);
  void done(const std::vector<VfName>& taken, std::size_t wanted);

  Services& services_;
  std::unique_ptr<Timer> try_again_;
  bool looking_ = false;
  bool again_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();  ///< workers may answer when this is gone
};

}  // namespace rdmove
