// What goes wrong in one simulation, chosen by its seed: which faults, when each begins (at a time, when a
// phase is entered, or at libvirt's switch), and how long it lasts. One per simulation.
#pragma once

#include <filesystem>
#include <map>

#include "coordinator/simulation/coordinator_process.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class Faults {
 public:
  /// `start` starts the daemon of a host again.
  Faults(World& world, std::function<void(Host&, CoordinatorProcess::FatalWrite)> start)
      : world_(world), start_(std::move(start)) {}

  void choose();
  /// Called when a daemon has journaled a phase, before it does anything of it.
  void phaseEntered();
  void switched();
  /// Called by whoever found a daemon dying: it is taken out of the world, and comes back later.
  void bury(Host& host);
  /// An operator decides what no host can know, as the world has it.
  void decide();

  /// Nothing is wrong any more, and nothing will be.
  bool over() const { return pending_ == 0; }

 private:
  struct Fault {
    const char* name;
    void (Faults::*begin)();
  };
  void begin(const Fault& fault);
  void lasting(Duration least, Duration most, std::function<void()> heal);

  void kill();
  void killAtWrite();
  void cutBothWays();
  void cutOneWay();
  void slowNetwork();
  void lossyNetwork();
  void restartLibvirtd();
  void abortJob();
  void losePower();
  void declareDead(Host& dead);
  void sayDead(Host& here, const MigrationRecord& record);
  void comeBack(Host& host, CoordinatorProcess::FatalWrite fatal);
  void failAttach();
  void failAttachForLong();
  void troubleUnplug();
  void holdAtPrepare();
  void silenceAgents();
  void loseAnswer();
  void endGuest();
  void cancel();
  void fillDisk();
  void breakFabric();
  void breakVf();

  Host& anyHost() { return world_.hosts[world_.random.below(2)]; }
  Guest& anyGuest() { return world_.guests[world_.random.below(world_.guests.size())]; }

  World& world_;
  std::function<void(Host&, CoordinatorProcess::FatalWrite)> start_;
  std::multimap<unsigned, Fault> at_phase_;
  std::multimap<unsigned, Fault> at_switch_;
  std::map<int, CoordinatorProcess::FatalWrite> next_fatal_;  ///< of the next run, by host
  unsigned phases_ = 0;
  unsigned switches_ = 0;
  int pending_ = 0;
};

}  // namespace rdmove::simulation
