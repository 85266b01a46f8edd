// What must hold, looked at from outside: in the simulated world's own state, never in a machine's opinion.
// The rules are those of docs/reliability.md, which names each. One per simulation.
#pragma once

#include <map>
#include <set>
#include <string>

#include "coordinator/journal/journal.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class Invariants {
 public:
  explicit Invariants(World& world) : world_(world) {}

  /// After every event.
  void always();
  /// A migration has just ended, durably, on this host: does the world match the word?
  /// `latest`: no other migration of the VM has begun since.
  void atEnd(Host& host, const MigrationId& id, Role role, const DomainUuid& uuid, Outcome outcome,
             bool latest);
  /// Nothing goes on any more, and nothing is wrong any more.
  void atRest();
  /// What a mover of that VM's leaves of its definition, when libvirt did not hear how it ended, is its own affair.
  void movedByAnother(const DomainUuid& uuid) { moved_by_another_.insert(uuid); }

 private:
  void fail(const std::string& rule, const std::string& what);
  void oneHost(const Guest& guest);
  void oneIdentity(const Guest& guest);
  void guestAtRest(const Guest& guest);
  void hostAtRest(Host& host);
  bool whole(Host& host, const Guest& guest);
  bool runs(Host& host, const Guest& guest);

  World& world_;
  std::map<DomainUuid, Duration> twice_since_;
  std::set<DomainUuid> moved_by_another_;
};

}  // namespace rdmove::simulation
