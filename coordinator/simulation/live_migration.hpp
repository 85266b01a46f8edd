// libvirt's peer-to-peer migration of one domain, with what is known to go wrong in it, the two traps of the
// point of no return among it (docs/reliability.md lists what is simulated). It goes on when the daemon that
// asked for it dies.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class LiveMigration : public std::enable_shared_from_this<LiveMigration> {
 public:
  using Done = std::function<void(Result<void>)>;

  LiveMigration(World& world, Host& source, const Guest& guest, const MigrationRequest& request, Done done);

  void start();
  void abort();
  bool startPostcopy();
  /// A libvirtd of either host was killed.
  void libvirtdGone(const Host& host);
  Host& destination() { return destination_; }
  bool over() const { return stage_ == Stage::kOver; }
  bool of(const DomainUuid& uuid) const { return uuid == uuid_; }
  /// Between the switch and the end: who loses either host then has lost the VM.
  bool inPostcopy() const { return postcopy_ && !over(); }

 private:
  enum class Stage { kPreparing, kCopying, kSwitching, kFinishing, kConfirming, kOver };

  void later(Duration time, Stage expected, void (LiveMigration::*what)());
  bool admitted();
  void prepared();
  void copy();
  void switchOver();
  void finish();   // at the destination
  void resumed();  // at the destination
  void postcopyEnds();
  void confirmed();  // back at the source
  void noWord();     // the source waited for the destination in vain
  void resumeSource();
  void fail(const std::string& why);
  void destinationFails();
  void destinationFailsAfter(Duration time);
  void end(Result<void> result);
  Domain* here() { return source_.domain(uuid_); }
  Domain* there() { return destination_.domain(uuid_); }

  World& world_;
  Host& source_;
  Host& destination_;
  DomainUuid uuid_;
  std::string name_;
  MigrationRequest request_;
  Done done_;
  Stage stage_ = Stage::kPreparing;
  std::optional<std::string> definition_;
  bool hooked_ = false;
  int iteration_ = 0;
  int iterations_ = 1;
  bool postcopy_ = false;
  bool source_gone_ = false;  ///< its libvirtd: nobody confirms
  Duration cut_since_{0};
};

}  // namespace rdmove::simulation
