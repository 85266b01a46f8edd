// One `prepare`, from the request to its answer. Reversible until its last step, the deletion of the
// soft-RoCE device:
//
//   resolve -> Clearing -> capture -> Quiescing -> Accounting -> anchor -> Removing -> done
//      |           |                      |             |                     |
//   answered    deadline: un-held, holdouts named                 deadline: Undoing (made
//                                                                 again when the kernel is done)
//
// From Quiescing on the applications stand still: what can be done before is done before.
// Owned by Moves; loop thread. `done` is called exactly once, and the object may be destroyed in it; what
// applications and anchor are told of the end is Moves' work, after the host has its answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "guestagent/agent/services.hpp"
#include "guestagent/protocol/move.hpp"

namespace rdmove::agent {

class Preparation {
 public:
  struct Outcome {
    Result<protocol::PrepareResult> answer;
    std::optional<Capture> capture;  // with an answer: the guest is prepared; with an error: to be undone
    std::vector<std::string> still_removing;  // devices whose deletion the kernel has not finished
  };
  using Done = std::function<void(Outcome)>;
  using LateRemoval = std::function<void(const std::string& rdma_name)>;

  /// `late_removal` is called for each of Outcome::still_removing once it is gone, however late.
  Preparation(Services& services, protocol::PrepareRequest request, Done done, LateRemoval late_removal);

  void start();

  /// The host wants the device back instead. True: un-held and answered; false: too late, an answer comes
  /// soon.
  bool give_up();

  [[nodiscard]] const protocol::PrepareRequest& request() const { return request_; }

 private:
  enum class Phase { Starting, Clearing, Quiescing, Accounting, Removing, Finished };

  Result<void> resolve();
  void clear();
  void quiesce();
  void account();
  void look_again(void (Preparation::*look)());
  void deadline_passed();
  Result<void> capture();
  void remove();
  void removed(const std::string& name, const Result<void>& result);
  void removal_deadline_passed();
  void succeed(std::vector<protocol::Holdout> holdouts);
  void call_off(protocol::Error error);
  void finish(Outcome outcome);

  [[nodiscard]] std::vector<protocol::Holdout> holders(const std::vector<std::int32_t>& believed) const;
  [[nodiscard]] protocol::Error holdouts_error(std::vector<protocol::Holdout> holdouts) const;
  [[nodiscard]] milliseconds remaining() const;

  Services& services_;
  protocol::PrepareRequest request_;
  Done done_;
  LateRemoval late_removal_;
  Phase phase_ = Phase::Starting;
  milliseconds started_;
  std::vector<LinkInfo> links_;    // one per requested device
  std::vector<std::string> rdma_;  // likewise; may be empty
  std::vector<std::string> removing_;
  std::optional<protocol::Error> failure_;  // of a removal
  Capture capture_;
  milliseconds captured_{0};  // when
  std::unique_ptr<Timer> deadline_;
  std::unique_ptr<Timer> next_look_;
  milliseconds look_interval_{10};
  std::shared_ptr<Preparation*> self_;  // what outlives us (children) asks this first
};

}  // namespace rdmove::agent
