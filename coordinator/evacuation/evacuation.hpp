// One evacuation that runs: begins migrations within its limits, looks how each ends, tries another
// destination where the first was full, and says at the end what stayed and why. What it does is in the
// journal before it is done, so that it goes on after a restart. Owned by Evacuations; loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/clock.hpp"
#include "coordinator/evacuation/record_json.hpp"
#include "coordinator/evacuation/survey.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/migration/bulletin.hpp"
#include "coordinator/migration/executors.hpp"

namespace rdmove::evacuation {

/// One VM of it: the journal's row, and what its texts say.
struct Member {
  EvacuatedVm row;
  Need need;
  std::vector<Try> tried{};
  bool reserved = false;  ///< its destination has leased its VFs, and counts them itself
};

/// The rest of the daemon, as an evacuation needs it.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// `request` names domain, uuid, destination and options.
  virtual Result<MigrationId> depart(const Plan& request) = 0;
  /// Answers on the loop, later.
  virtual void askRooms(const std::vector<HostName>& destinations, std::function<void(Rooms)> answer) = 0;
};

class Evacuation : public std::enable_shared_from_this<Evacuation> {
 public:
  /// `say` is called at each change, with a line for people.
  using Say = std::function<void(const Evacuation&, const std::string&)>;
  Evacuation(Journal& journal, Surroundings& surroundings, Timers& timers, const Clock& clock,
             EvacuationRecord record, Request request, std::vector<Member> members, Say say);

  /// Of one that was just journaled, or after a restart: looks what has become of its migrations meanwhile.
  void start();
  /// Of any migration of this host. Not from inside the session that publishes it.
  void onUpdate(const Update& update);
  /// No new ones begin. false: it was cancelled before, or is over.
  Result<bool> cancel();

  bool over() const { return record_.outcome != EvacuationOutcome::kRunning; }
  const EvacuationRecord& record() const { return record_; }
  const Request& request() const { return request_; }
  const std::vector<Member>& members() const { return members_; }

 private:
  void look();
  void beginWhatFits(const Rooms& rooms, std::multimap<HostName, Need> coming);
  std::vector<Turn> turns() const;
  std::multimap<HostName, Need> coming() const;
  bool begin(Member& member, const HostName& destination);
  void takeUp(Member& member);
  void ended(Member& member, Outcome outcome, const std::string& error);
  void stay(Member& member, const std::string& reason);
  void wait(Member& member, const std::string& reason, bool full);
  void finishIfOver();
  bool keep(Member& member);
  void say(const std::string& message) { say_(*this, message); }
  std::int64_t now() const;

  Journal& journal_;
  Surroundings& surroundings_;
  Timers& timers_;
  const Clock& clock_;
  EvacuationRecord record_;
  Request request_;
  std::vector<Member> members_;
  Say say_;
  std::unique_ptr<Timer> again_;
  bool looking_ = false;
  bool look_again_ = false;
};

/// How it ends, by what became of its VMs: a word for the journal.
EvacuationOutcome outcomeOf(const std::vector<Member>& members, bool cancelled);
/// "evacuation-…: 3 of 4 VMs have left; 1 stays."
std::string closingWords(const EvacuationRecord& record, const std::vector<Member>& members);

}  // namespace rdmove::evacuation
