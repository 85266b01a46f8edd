// The general services queue pair (QP1) of one port, shared by several functions, as an object without any
// I/O: MADs go in with from_function() and from_wire(), and come out of to_wire() and to_function(). A model
// library, attached to no adapter (docs/gsi.md says why). One owner, one thread; nothing is called back.
//
//   SharedPort port(options, clock);
//   port.add_function(FunctionId{1}, {gid});
//   port.from_function(FunctionId{1}, request);             // what the guest's QP1 sent
//   while (auto mad = port.to_wire()) send(*mad);           // and what leaves for it
//   port.from_wire(answer);
//   while (auto next = port.to_functions()) give(next->owner, next->datagram);
//   port.tick();                                            // at next_deadline(), or now and then
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shadowdev/gsi/cm_by_comm_id.hpp"
#include "shadowdev/gsi/fair_queue.hpp"
#include "shadowdev/gsi/function_state.hpp"
#include "shadowdev/gsi/report_fanout.hpp"
#include "shadowdev/gsi/transactions.hpp"

namespace rdmove::gsi {

enum class CmStrategy : std::uint8_t { ByGid, ByCommId };

/// Of each function alone: what one uses up is not missing to another.
struct FunctionLimits {
  std::uint16_t outstanding = 64;  ///< requests without an answer, at most Transactions::kMostSlots
  std::size_t outgoing = 64;       ///< MADs on their way to the wire
  std::size_t incoming = 256;      ///< MADs that the function has not fetched
  std::size_t owed = 64;           ///< requests of others that it may still answer; the oldest is forgotten
  std::size_t gids = 16;
};

struct PortOptions {
  Gid gid;               ///< the port's own: the member and subscriber that the subnet administrator knows
  Lid subnet_manager{};  ///< where the subnet administrator answers
  std::uint8_t subnet_manager_service_level = 0;
  CmStrategy cm = CmStrategy::ByCommId;
  FunctionLimits functions;
  SharedLimits multicast;
  SharedLimits subscriptions;
  CmLimits connections;
  std::uint16_t own_outstanding = 1024;       ///< the port's own requests to the administrator
  milliseconds transaction_lifetime{20'000};  ///< of a request that nobody answers
  std::uint64_t seed = 0;                     ///< for numbers that other ports should not use; random
};

/// What a function should be told by means other than MADs (a client re-register event, say).
struct PortEvent {
  FunctionId function{};
  bool is_membership = true;  ///< else a subscription
  RecordBytes record{};
  RecordChange change = RecordChange::Lost;
  std::uint16_t status = 0;  ///< the administrator's
};

class SharedPort final : private GidOwners {
 public:
  SharedPort(const PortOptions& options, const Timekeeper& timekeeper);
  ~SharedPort() override;
  SharedPort(const SharedPort&) = delete;
  SharedPort& operator=(const SharedPort&) = delete;

  /// BadInput: no GIDs, too many, or one that is zero or multicast. Conflict: the function, or one of the
  /// GIDs, is here.
  Result<void> add_function(FunctionId function, const std::vector<Gid>& gids);
  /// All that it holds is given back; what only it needed is left at the administrator.
  Result<void> remove_function(FunctionId function);
  [[nodiscard]] bool has_function(FunctionId function) const;

  Verdict from_function(FunctionId function, const Datagram& datagram);
  Verdict from_wire(const Datagram& datagram);
  /// Next to be sent; functions take turns.
  std::optional<Datagram> to_wire();
  std::optional<FairQueue::Next> to_functions();
  std::optional<Datagram> to_function(FunctionId function);
  /// Look here before fetching MADs: what a function is told by one may follow from the other.
  std::optional<PortEvent> next_event();

  void tick();
  /// Nothing: nothing waits.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  /// Another subnet manager, or one that wants clients to register again: memberships and subscriptions are
  /// asked for anew.
  void subnet_manager_changed(Lid lid, std::uint8_t service_level);

  /// Takes a function out of this port, with what migrates. NotFound; BadInput: the physical function stays.
  Result<FunctionState> take_out(FunctionId function);
  /// Puts one in, with the GIDs that it has here. As add_function(), and TooLarge: more than this port's
  /// limits. On failure nothing has changed.
  Result<void> put_in(FunctionId function, const std::vector<Gid>& gids, const FunctionState& state);

  [[nodiscard]] const Counters& counters(FunctionId function) const;  ///< of what it sent
  [[nodiscard]] const Counters& wire_counters() const { return wire_counters_; }
  [[nodiscard]] std::size_t outstanding(FunctionId function) const;
  [[nodiscard]] std::size_t expired() const { return expired_; }  ///< requests that nobody answered
  [[nodiscard]] JoinState membership(const Gid& group) const;     ///< the port's, at the administrator
  [[nodiscard]] std::size_t subscriptions() const;                ///< the port's, at the administrator

 private:
  struct Owed {
    TransactionId id;
    ManagementClass of;
    Lid remote;
    bool operator==(const Owed&) const = default;
  };
  struct Function {
    FunctionId id{};
    std::vector<Gid> gids;
    std::deque<Owed> owed;
  };
  class Desk;

  // GidOwners
  [[nodiscard]] std::optional<FunctionId> owner(const Gid& gid) const override;

  Verdict outbound(Function& from, const Datagram& datagram);
  Verdict cm_outbound(Function& from, const Datagram& datagram);
  Verdict sa_outbound(Function& from, const Datagram& datagram);
  Verdict answer_outbound(Function& from, const Datagram& datagram);
  Verdict request_outbound(Function& from, const Datagram& datagram);
  Verdict send(FunctionId from, const Datagram& datagram);

  Verdict inbound(const Datagram& datagram);
  Verdict cm_inbound(const Datagram& datagram);
  Verdict answer_inbound(const Datagram& datagram);
  Verdict report_inbound(const Datagram& datagram);
  Verdict request_inbound(const Datagram& datagram);
  Verdict deliver(FunctionId to, const Datagram& datagram);

  [[nodiscard]] Function* find(FunctionId function);
  [[nodiscard]] static bool owns(const Function& function, const Gid& gid);
  [[nodiscard]] Result<void> check_new(FunctionId function, const std::vector<Gid>& gids) const;
  [[nodiscard]] Transactions& transactions(FunctionId function);

  PortOptions options_;
  const Timekeeper& timekeeper_;
  std::array<std::unique_ptr<Function>, 256> functions_;
  std::array<std::unique_ptr<Transactions>, 256> transactions_;  // outlive their functions: see clear()
  std::array<Counters, 256> counters_{};
  Counters wire_counters_;
  std::unordered_map<Gid, FunctionId> gids_;
  FairQueue outgoing_;
  FairQueue incoming_;
  std::deque<PortEvent> events_;
  std::size_t expired_ = 0;
  std::uint64_t next_own_id_ = 1;

  std::unique_ptr<CmRouter> cm_;
  MulticastKind multicast_kind_;
  InformKind inform_kind_;
  std::unique_ptr<Desk> membership_desk_;
  std::unique_ptr<Desk> subscription_desk_;
  SharedRecords memberships_;
  SharedRecords subscribed_;
  ReportFanout fanout_;
};

}  // namespace rdmove::gsi
