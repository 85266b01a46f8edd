// One run of a host's rdmoved, from its start to kill -9: the real coordinator with its sessions, machines
// and journal, put together as service/daemon.cpp does, on the simulated host.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <optional>

#include "coordinator/evacuation/evacuations.hpp"
#include "coordinator/journal/sqlite_journal.hpp"
#include "coordinator/service/coordinator.hpp"
#include "coordinator/simulation/simulated_agent.hpp"
#include "coordinator/simulation/simulated_fabric.hpp"
#include "coordinator/simulation/simulated_journal.hpp"
#include "coordinator/simulation/simulated_libvirt.hpp"
#include "coordinator/simulation/simulated_partner.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class CoordinatorProcess : private Workers, private Timers {
 public:
  struct Hooks {
    std::function<void(const MigrationId&, Role, const std::string& phase)> entered;
    std::function<void(const MigrationId&, Role, Outcome)> ended;
  };
  struct JournalFile {
    std::filesystem::path path;
    Room room = Room::kReserved;
  };
  /// The write of the journal that it does not outlive, counted from its start.
  struct FatalWrite {
    unsigned number = 0;  ///< 0: none
    bool durable = false;
  };

  /// Opens the journal and takes up what is unfinished, as the daemon does at its start.
  CoordinatorProcess(World& world, Host& host, const JournalFile& journal, FatalWrite fatal, Hooks hooks);
  ~CoordinatorProcess() override;
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  /// One handler of the loop; false when none is ready.
  bool runReady();
  /// kill -9: from now on it does nothing that anybody could notice, and is buried at the next opportunity.
  void die() { dying_ = true; }
  bool dying() const { return dying_; }

  void post(std::function<void()> what) { boost::asio::post(loop_, std::move(what)); }
  void inWorker(std::function<void()> work) { run(std::move(work)); }
  std::weak_ptr<int> life() const { return life_; }
  Coordinator& coordinator() { return *coordinator_; }
  Evacuations& evacuations() { return *evacuations_; }
  HypervisorListener& listener() { return *coordinator_; }
  Examiner& examiner() { return *examiner_; }
  Bulletin& bulletin() { return bulletin_; }
  Journal& journal() { return *journal_; }
  const Config& config() const { return config_; }

 private:
  void run(std::function<void()> work) override;
  std::unique_ptr<Timer> after(std::chrono::milliseconds time, std::function<void()> passed) override;
  SimulatedJournal::Watch watchJournal(Hooks hooks);

  class HostClock : public Clock {
   public:
    HostClock(World& world, Host& host) : world_(world), host_(host) {}
    Moment now() const override;
    std::string bootId() const override;

   private:
    World& world_;
    Host& host_;
  };

  World& world_;
  Host& host_;
  bool dying_ = false;
  FatalWrite fatal_;
  std::shared_ptr<int> life_ = std::make_shared<int>();
  Config config_;
  HostClock clock_;
  SimulatedLibvirt libvirt_;
  SimulatedFabric fabric_;
  SimulatedPartner partner_;
  SimulatedAgents links_;
  AgentDesk agents_;
  Bulletin bulletin_;
  std::unique_ptr<Journal> journal_;
  std::optional<Services> services_;
  std::unique_ptr<Examiner> examiner_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Evacuations> evacuations_;
};

}  // namespace rdmove::simulation
