// One `restore`, from the request to its answer. Nothing is waited for that is not needed for the next step:
// every event (a link changed, a late removal ended, a look at the GID table) just calls advance() again.
//
// per device:  find by MAC -> name, MTU, addresses, up, VLANs -> routes -> announced (with a carrier) ->
//              RDMA device -> GIDs and carrier
// then:        applications told, done
//
// Owned by Moves; loop thread. `done` is called exactly once, and the object may be destroyed in it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "guestagent/agent/managed_device.hpp"
#include "guestagent/agent/services.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove::agent {

class Restoration {
 public:
  using Done = std::function<void(Result<protocol::RestoreResult>)>;

  /// Without a capture (the guest was never prepared, or has booted since) what is there is used as it is.
  Restoration(Services& services, protocol::RestoreRequest request, const std::optional<Capture>& capture,
              Done done);

  void start();
  void advance();

  [[nodiscard]] const protocol::RestoreRequest& request() const { return request_; }

 private:
  struct Device {
    protocol::DeviceTarget target;
    std::optional<CapturedDevice> captured;
    std::optional<LinkInfo> link;
    std::unique_ptr<ManagedDevice> managed;  // while and after somebody else puts the addresses back
    NetworkState::BroughtUp up;              // without links until they are
    std::vector<std::string> failed_routes;
    bool routes_retried = false;
    std::string rdma;
    std::string rdma_error;
    std::vector<protocol::GidEntry> gids;
    std::unique_ptr<GidEvents::Watch> gid_watch;  // while a GID is missing: it holds the device open
    bool gid_watch_asked = false;
    protocol::MissingPiece missing;
    bool announced = false;
    bool settings_put = false;
    bool complete = false;
  };

  bool advance(Device& device);
  bool find_link(Device& device);
  bool manager_is_done(Device& device);
  void bring_up(Device& device);
  bool find_rdma(Device& device);
  void put_settings(Device& device);
  void confirm_leases(const Device& device);
  static void close_rdma(Device& device);
  bool find_gids(Device& device);
  static std::vector<std::string> wanted_gids(const Device& device);
  std::string missing_gid(Device& device);
  void retry_routes(Device& device);
  void announce(Device& device);
  [[nodiscard]] std::string free_rdma_name(const std::string& wanted) const;
  bool lacks(Device& device, std::string piece, std::string name);
  void deadline_passed();
  void succeed();
  void finish(Result<protocol::RestoreResult> result);

  Services& services_;
  protocol::RestoreRequest request_;
  Done done_;
  milliseconds started_;
  std::vector<Device> devices_;
  // Of the leases, which may outlive us.
  std::shared_ptr<std::vector<std::string>> lease_warnings_ = std::make_shared<std::vector<std::string>>();
  std::unique_ptr<Timer> deadline_;
  std::unique_ptr<Timer> next_look_;
};

}  // namespace rdmove::agent
