// One migration under faults: asks for it, follows both hosts, begins and ends faults at their moments, and
// returns when nothing is left to be done on either host. Single-threaded; everything it starts ends with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "migration-tests/harness/faults.hpp"
#include "migration-tests/harness/judge.hpp"
#include "migration-tests/harness/result.hpp"
#include "migration-tests/harness/watch.hpp"

namespace rdmove::harness {

class MigrationRun {
 public:
  using Tell = std::function<void(const std::string&)>;

  /// `cast` gets its commands here. `tell` hears each event as it comes.
  MigrationRun(const Scenario& scenario, Cast& cast, Words options, Tell tell);
  ~MigrationRun();
  MigrationRun(const MigrationRun&) = delete;
  MigrationRun& operator=(const MigrationRun&) = delete;

  Story run();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  /// The faults, as bars of source "faults".
  [[nodiscard]] std::vector<TimelineSpan> faultSpans() const;

 private:
  struct Going;

  void arm();
  void ask();
  void hear(const Word& word);
  void beginDue(Going& going);
  void begin(Going& going);
  void endDue(Going& going);
  void end(Going& going);
  bool faultsAreOver() const;
  bool nothingUnfinished();
  int failures(const Going& going) const;
  void cleanUp();
  void event(const std::string& text);
  void trouble(const std::string& text);

  const Scenario& scenario_;
  Cast& cast_;
  Words options_;
  Tell tell_;
  Story story_;
  std::string id_;
  std::chrono::steady_clock::time_point asked_at_{};
  std::unique_ptr<Child> command_;
  std::vector<std::unique_ptr<Going>> faults_;
  std::vector<Event> events_;
  Watch source_;
  Watch destination_;
};

}  // namespace rdmove::harness
