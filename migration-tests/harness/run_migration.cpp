#include "migration-tests/harness/run_migration.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "migration-tests/harness/phases.hpp"

namespace rdmove::harness {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLook{300};
constexpr const char* kCommandPid = "/run/rdmove/failover-command.pid";

std::int64_t wallNow() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

nlohmann::json json(const Host& host, const std::string& words) {
  return nlohmann::json::parse(text(host.on(host.rdmoveWords() + words + " --json")), nullptr, false);
}

bool unfinished(const std::string& outcome) {
  return outcome == "Running" || outcome == "Degraded";
}

}  // namespace

struct MigrationRun::Going {
  const Fault* fault = nullptr;
  std::unique_ptr<Harm> harm;
  std::unique_ptr<StandStill> held;
  enum class State { kWaits, kOn, kOver } state = State::kWaits;
  bool due = false;  ///< its phase was heard of
  bool until_met = false;
  Clock::time_point since{};
  Clock::time_point looked{};
  int failures_before = 0;
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
};

MigrationRun::MigrationRun(const Scenario& scenario, Cast& cast, Words options, Tell tell)
    : scenario_(scenario),
      cast_(cast),
      options_(std::move(options)),
      tell_(std::move(tell)),
      source_(*cast.source, scenario.vm),
      destination_(*cast.destination, scenario.vm) {
  cast_.migration = [this] { return id_; };
  cast_.kill_command = [this] {
    harness::run(cast_.source->on(fmt::format("kill -9 $(cat {})", kCommandPid)));
    story_.command_killed = true;
  };
  for (const Fault& fault : scenario.faults) {
    auto going = std::make_unique<Going>();
    going->fault = &fault;
    going->harm = harmOf(fault, cast_);
    faults_.push_back(std::move(going));
  }
}

MigrationRun::~MigrationRun() = default;

void MigrationRun::event(const std::string& text) {
  const auto at = asked_at_ == Clock::time_point{} ? Clock::duration{} : Clock::now() - asked_at_;
  events_.push_back({std::chrono::duration_cast<milliseconds>(at), text});
  tell_(fmt::format("{:8.3f}  {}", std::chrono::duration<double>(at).count(), text));
}

void MigrationRun::trouble(const std::string& text) {
  if (text.empty()) return;
  event("trouble: " + text);
  if (story_.trouble.empty()) story_.trouble = text;
}

Story MigrationRun::run() {
  arm();
  if (story_.trouble.empty()) {
    ask();
    const auto deadline = Clock::now() + scenario_.limit;
    auto looked = Clock::now();
    while (Clock::now() < deadline) {
      pollfd ready[] = {{command_->descriptor(), POLLIN, 0},
                        {source_.descriptor(), POLLIN, 0},
                        {destination_.descriptor(), POLLIN, 0}};
      // A command that has ended is readable for ever.
      if (command_->ended()) ready[0].fd = -1;
      poll(ready, std::size(ready), 20);
      for (Watch* watch : {&source_, &destination_})
        for (const Word& word : watch->news()) hear(word);
      for (const std::string& line : command_->lines())
        if (const auto word = wordOf(cast_.source->name, line, scenario_.vm); word && id_.empty())
          id_ = word->id;
      for (const auto& going : faults_) beginDue(*going);
      for (const auto& going : faults_) endDue(*going);
      if (!command_->ended() || Clock::now() - looked < kLook) continue;
      looked = Clock::now();
      if (!nothingUnfinished()) continue;
      for (const auto& going : faults_)
        if (going->fault->until.kind == Until::Kind::kOver) going->until_met = true;
      if (faultsAreOver()) {
        story_.over = true;
        break;
      }
    }
    story_.command_status = command_->ended() ? command_->status() : -1;
    event(fmt::format("rdmove migrate: {}", story_.command_killed ? "killed"
                                            : command_->ended()
                                                ? fmt::format("status {}", story_.command_status)
                                                : "still runs"));
  }
  cleanUp();
  return story_;
}

/// What must be ready before the migration begins: file systems, daemons that will stand still.
void MigrationRun::arm() {
  for (const auto& going : faults_) trouble(going->harm->prepare());
  for (const Side side : {Side::kSource, Side::kDestination}) {
    const Host& host = cast_.host(side);
    std::string stop_at;
    for (const auto& going : faults_) {
      const Moment& at = going->fault->at;
      const bool here = at.phase.starts_with("departure.") == (side == Side::kSource);
      if (at.hold && here && !at.phase.empty()) stop_at = at.phase;
    }
    if (!stop_at.empty() && !harness::run(host.stop_daemon, seconds(60)).ok())
      trouble("rdmoved on " + host.name + " can't be stopped");
    // One that a fault's prepare() has stopped is started here as well.
    if (!stop_at.empty() || !harness::run(host.on(host.rdmoveWords() + "list --json")).ok())
      trouble(startDaemon(host, stop_at));
  }
  for (const auto& going : faults_) {
    if (going->fault->at.hold)
      going->held = std::make_unique<StandStill>(
          going->fault->at.phase.starts_with("departure.") ? *cast_.source : *cast_.destination);
    if (going->fault->at.phase.empty()) begin(*going);
  }
}

void MigrationRun::ask() {
  std::string words;
  for (const Words* more :
       {static_cast<const Words*>(&options_), static_cast<const Words*>(&scenario_.options)})
    for (const std::string& word : *more) words += " '" + word + "'";
  asked_at_ = Clock::now();
  event(fmt::format("rdmove migrate {} {}{}", scenario_.vm, cast_.destination->name, words));
  command_ = std::make_unique<Child>(
      cast_.source
          ->on(fmt::format("echo $$ >{}; exec {}migrate '{}' '{}' --json{}", kCommandPid,
                           cast_.source->rdmoveWords(), scenario_.vm, cast_.destination->name, words))
          .words());
}

void MigrationRun::hear(const Word& word) {
  if (id_.empty()) id_ = word.id;
  if (word.id != id_) return;
  event(fmt::format("{} {} {}{}", word.host, word.role, word.phase,
                    word.outcome == "Running" ? "" : ": " + word.outcome));
  if (word.outcome == "Degraded") story_.degraded = true;
  for (const auto& going : faults_) {
    const Fault& fault = *going->fault;
    if (!fault.at.hold && fault.at.phase == word.at()) going->due = true;
    if (going->state != Going::State::kOn) continue;
    if (fault.until.kind == Until::Kind::kPhase && fault.until.phase == word.at()) going->until_met = true;
    if (fault.until.kind == Until::Kind::kDegraded && word.outcome == "Degraded") going->until_met = true;
  }
}

void MigrationRun::beginDue(Going& going) {
  if (going.state != Going::State::kWaits) return;
  if (going.held ? going.held->reached() : going.due) begin(going);
}

void MigrationRun::begin(Going& going) {
  const Fault& fault = *going.fault;
  event("fault: " + describe(fault));
  going.failures_before = fault.until.kind == Until::Kind::kFailure ? failures(going) : 0;
  going.begin_us = wallNow();
  trouble(going.harm->begin());
  going.state = Going::State::kOn;
  going.since = Clock::now();
  const bool its_own = fault.kind == FaultKind::kStop && fault.process == Process::kDaemon &&
                       fault.at.phase.starts_with(fault.side == Side::kSource ? "departure." : "arrival.");
  if (going.held && !its_own) going.held->goOn();
  endDue(going);
}

void MigrationRun::endDue(Going& going) {
  if (going.state != Going::State::kOn) return;
  const Until& until = going.fault->until;
  bool due = going.until_met || until.kind == Until::Kind::kAtOnce;
  if (until.kind == Until::Kind::kTime) due = Clock::now() - going.since >= until.time;
  if (until.kind == Until::Kind::kFailure && Clock::now() - going.looked >= kLook) {
    going.looked = Clock::now();
    due = failures(going) > going.failures_before;
  }
  if (due) end(going);
}

void MigrationRun::end(Going& going) {
  trouble(going.harm->end());
  going.end_us = wallNow();
  going.state = Going::State::kOver;
  if (going.fault->until.kind != Until::Kind::kAtOnce) event("over: " + describe(*going.fault));
}

bool MigrationRun::faultsAreOver() const {
  return std::all_of(faults_.begin(), faults_.end(),
                     [](const auto& going) { return going->state != Going::State::kOn; });
}

/// On both hosts, by their own lists; and what they say of this one's end.
bool MigrationRun::nothingUnfinished() {
  for (const Host* host : {cast_.source, cast_.destination}) {
    const auto list = json(*host, "list --newest 20");
    if (!list.is_object()) return false;
    for (const auto& migration : list.value("migrations", nlohmann::json::array())) {
      if (migration.value("domain", "") != scenario_.vm) continue;
      const std::string outcome = migration.value("outcome", "");
      if (unfinished(outcome)) {
        story_.degraded = story_.degraded || (outcome == "Degraded" && migration.value("id", "") == id_);
        return false;
      }
      if (migration.value("id", "") != id_) continue;
      (host == cast_.source ? story_.outcome : story_.arrival_outcome) = outcome;
    }
  }
  return true;
}

/// How many times the fault's phase has failed, by the journal of its host.
int MigrationRun::failures(const Going& going) const {
  if (id_.empty()) return 0;
  const Host& host = cast_.host(going.fault->side);
  const Phase* phase = findPhase(going.fault->at.phase);
  const auto shown = json(host, "show " + id_);
  int count = 0;
  if (!shown.is_object() || phase == nullptr) return count;
  for (const auto& step : shown.value("steps", nlohmann::json::array())) {
    const std::string mark = step.value("mark", "");
    if (step.value("step", "") == phase->name && (mark == "note" || mark == "failed")) ++count;
  }
  return count;
}

/// Nothing that was done for the scenario stays, however it went.
void MigrationRun::cleanUp() {
  for (const auto& going : faults_) {
    if (going->state == Going::State::kOn) end(*going);
    if (going->state == Going::State::kWaits) story_.not_reached.push_back(describe(*going->fault));
  }
  for (const auto& going : faults_) {
    if (!going->held) continue;
    const Host& host = going->fault->at.phase.starts_with("departure.") ? *cast_.source : *cast_.destination;
    going->held->goOn();
    // One that never got there would stand still in somebody else's migration.
    if (going->state == Going::State::kWaits) {
      harness::run(host.stop_daemon, seconds(60));
      startDaemon(host, "");
    }
  }
  for (const auto& going : faults_) going->harm->clear();
}

std::vector<TimelineSpan> MigrationRun::faultSpans() const {
  std::vector<TimelineSpan> spans;
  for (const auto& going : faults_) {
    if (going->begin_us == 0) continue;
    TimelineSpan& span = spans.emplace_back();
    span.source = "faults";
    span.phase = label(*going->fault);
    span.detail = describe(*going->fault);
    span.begin_us = going->begin_us;
    if (going->end_us != 0) span.end_us = going->end_us;
  }
  return spans;
}

}  // namespace rdmove::harness
