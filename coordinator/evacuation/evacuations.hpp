// The evacuations of this host: plans them, lets one at a time run, takes up after a restart the one that was
// not over, and tells those who follow it. Owned by the daemon beside the coordinator; loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/board.hpp"
#include "coordinator/evacuation/evacuation.hpp"
#include "coordinator/evacuation/peers.hpp"
#include "coordinator/migration/session.hpp"

namespace rdmove {

namespace evacuation {

/// What would be done, or is: each VM with its destination, or with the reason why it stays.
struct Draft {
  std::vector<Member> members;  ///< in the order in which they begin
  std::vector<HostRoom> rooms;
  std::vector<Finding> findings;
};

/// One evacuation as it stands.
struct Account {
  EvacuationRecord record;
  Request request;
  std::vector<Member> members;
};

}  // namespace evacuation

class Evacuations : private evacuation::Surroundings {
 public:
  using Account = evacuation::Account;
  using Draft = evacuation::Draft;
  using Request = evacuation::Request;
  /// An empty id: there was nothing to be moved.
  struct Begun {
    EvacuationId id;
    Draft draft;
  };
  using Depart = std::function<Result<MigrationId>(const Plan&)>;

  /// `depart` starts a migration; `unfinished` names those of this host that are not over.
  Evacuations(Services& services, Depart depart, std::function<std::vector<MigrationRecord>()> unfinished);
  ~Evacuations() override;

  /// Takes up the one that is not over. After the coordinator has taken up its migrations.
  Result<void> recover();

  // `done` is called on the loop, now or later.
  void plan(const Request& request, std::function<void(Result<Draft>)> done);
  /// Plans, journals and begins, after `done` has returned.
  void begin(const Request& request, std::function<void(Result<Begun>)> done);

  /// Takes a unique prefix of an id; nullopt: no evacuation fits it. kBadInput: several do.
  Result<std::optional<EvacuationId>> find(const std::string& id_or_prefix);
  Result<Account> account(const EvacuationId& id);
  Result<void> cancel(const EvacuationId& id);
  /// Is this the newest migration of one of its VMs?
  bool moves(const EvacuationId& id, const MigrationId& migration) const;
  Result<std::vector<EvacuationRecord>> list() { return services_.journal.evacuations(); }

  /// Hears of each change of one that runs, with a line for people.
  Board<Account, std::string>& board() { return board_; }

 private:
  struct Asking;  // guests' agents, each twice
  Result<MigrationId> depart(const Plan& request) override { return depart_(request); }
  void askRooms(const std::vector<HostName>& destinations,
                std::function<void(evacuation::Rooms)> answer) override;
  Result<Request> checked(Request request) const;
  void askGuests(std::vector<evacuation::Candidate> vms, std::function<void(Asking&)> done);
  static Draft draftOf(Asking& asked, std::vector<HostRoom> rooms);
  Result<EvacuationId> journaled(const Request& request, const Draft& draft);
  void run(EvacuationRecord record, Request request, std::vector<evacuation::Member> members);
  void tell(const evacuation::Evacuation& one, const std::string& message);

  Services& services_;
  Depart depart_;
  std::function<std::vector<MigrationRecord>()> unfinished_;
  std::uint64_t subscription_ = 0;
  std::shared_ptr<evacuation::Evacuation> running_;
  Board<Account, std::string> board_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();  ///< workers and agents may answer when this is gone
};

}  // namespace rdmove
