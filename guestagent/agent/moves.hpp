// Who is prepared, who is under way: makes `prepare` and `restore` idempotent and allows one migration at a
// time. One per agent; loop thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "guestagent/agent/preparation.hpp"
#include "guestagent/agent/restoration.hpp"
#include "guestagent/protocol/events.hpp"

namespace rdmove::agent {

class Moves {
 public:
  using PrepareReply = std::function<void(const Result<protocol::PrepareResult>&)>;
  using RestoreReply = std::function<void(const Result<protocol::RestoreResult>&)>;
  using OnReady = std::function<void(const protocol::Ready&)>;

  /// `on_ready` is called just before a restore is answered. Takes up what an earlier agent has captured.
  Moves(Services& services, OnReady on_ready);

  void prepare(const protocol::PrepareRequest& request, PrepareReply reply);
  void restore(const protocol::RestoreRequest& request, RestoreReply reply);
  void links_changed();

  [[nodiscard]] std::optional<protocol::MigrationId> prepared() const;

 private:
  template <class Answer>
  struct Known {
    protocol::MigrationId migration;
    Answer answer;
  };

  void prepared_or_not(Preparation::Outcome outcome);
  void gone(const protocol::MigrationId& migration, milliseconds took);
  void restored_or_not(const Result<protocol::RestoreResult>& result);
  void start_restore(const protocol::RestoreRequest& request);
  void late_removal(const std::string& rdma_name);
  void undo();
  [[nodiscard]] std::optional<protocol::Error> in_the_way(const protocol::MigrationId& migration) const;

  Services& services_;
  OnReady on_ready_;
  std::optional<Capture> capture_;  // of the migration that the guest is prepared for
  bool undoing_ = false;            // capture_ is of a prepare that failed at its last step
  std::set<std::string> removing_;  // RDMA devices that the kernel has not finished deleting
  std::vector<protocol::DeviceTraffic> traffic_before_;  // of the preparation
  std::unique_ptr<Preparation> preparation_;
  std::unique_ptr<Restoration> restoration_;
  std::optional<protocol::RestoreRequest>
      waiting_restore_;  // came while a preparation was past its point of return
  std::vector<PrepareReply> prepare_replies_;
  std::vector<RestoreReply> restore_replies_;
  std::deque<Known<protocol::PrepareResult>> prepared_answers_;
  std::deque<Known<protocol::RestoreResult>> restored_answers_;
};

}  // namespace rdmove::agent
