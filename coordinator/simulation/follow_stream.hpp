// Both ends of one Follow call: the server's loop over its updates, as PartnerService has it, and what the
// client hears of it. Outlives either daemon until the other has noticed.
#pragma once

#include "coordinator/migration/partner.hpp"
#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class FollowStream : public std::enable_shared_from_this<FollowStream> {
 public:
  FollowStream(World& world, Host& client, MigrationId id,
               std::function<void(std::function<void()>)> on_client_loop,
               std::function<void(ArrivalReport)> report, std::function<void(Error)> broken);

  void open();
  /// The client wants no more of it, or is dead.
  void close() { client_there_ = false; }

 private:
  void opened();
  void tick();
  void push();
  void deliver(ArrivalReport report);
  void end(const Error& error);
  void leaveServer();
  bool serverThere() const;
  void toClient(std::function<void()> what);

  World& world_;
  Host& client_;
  Host& server_;
  MigrationId id_;
  std::function<void(std::function<void()>)> on_client_loop_;
  std::function<void(ArrivalReport)> report_;
  std::function<void(Error)> broken_;
  std::weak_ptr<int> server_life_;
  std::uint64_t subscription_ = 0;
  std::optional<ArrivalReport> waiting_;  ///< while nothing gets through
  Duration stalled_since_{-1};
  Duration last_delivery_{0};
  bool told_ = false;  ///< an update since the last tick
  bool client_there_ = true;
  bool over_ = false;
};

}  // namespace rdmove::simulation
