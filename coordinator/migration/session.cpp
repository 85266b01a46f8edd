#include "coordinator/migration/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace rdmove {
namespace {

constexpr std::pair<ErrorCode, const char*> kBlames[] = {{ErrorCode::kExhausted, "blame-exhausted"},
                                                         {ErrorCode::kCancelled, "blame-cancelled"}};

std::int64_t wallMicroseconds(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::microseconds>(clock.now().wall.time_since_epoch()).count();
}

}  // namespace

std::string blameFact(ErrorCode code) {
  for (const auto& [known, name] : kBlames) {
    if (known == code) return name;
  }
  return "blame";
}

std::optional<ErrorCode> blameOf(const std::string& fact_name) {
  for (const auto& [code, name] : kBlames) {
    if (fact_name == name) return code;
  }
  return fact_name == "blame" ? std::optional(ErrorCode::kInternal) : std::nullopt;
}

Session::Session(Services& services, MigrationRecord record)
    : services_(services), record_(std::move(record)) {}

void Session::enterPhase(const std::string& phase) {
  const auto written = services_.journal.enter(record_.id, record_.role, phase);
  intent_journaled_ = written.has_value();
  if (!written) {
    spdlog::error("migration={} phase={} journal: {}", record_.id.str(), phase, written.error().sentence());
  }
  record_.phase = phase;
  record_.updated_us = wallMicroseconds(services_.clock);
  spdlog::info("migration={} phase={} role={} domain={}", record_.id.str(), phase, toString(record_.role),
               record_.domain);
  publish("");
  services_.entered(record_.role, phase);
}

bool Session::intentJournaled() {
  if (!intent_journaled_) {
    intent_journaled_ = services_.journal.enter(record_.id, record_.role, record_.phase).has_value();
  }
  return intent_journaled_;
}

Error Session::unjournaled() {
  return {ErrorCode::kExhausted, "journal the next step", "the journal cannot be written",
          "Make room on the disk under the daemon's state_dir."};
}

void Session::leavePhase(const std::string& phase, bool failed) {
  const auto mark = failed ? StepMark::kFailed : StepMark::kDone;
  if (const auto written = services_.journal.mark(record_.id, record_.role, phase, mark, ""); !written) {
    spdlog::error("migration={} phase={} journal: {}", record_.id.str(), phase, written.error().sentence());
  }
}

TimerId Session::armTimer(std::chrono::milliseconds after) {
  const TimerId id{++last_timer_};
  timers_.emplace(id, services_.timers.after(after, [weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (!self || self->timers_.erase(id) == 0) return;
    self->timerPassed(id);
  }));
  return id;
}

void Session::disarmTimer(TimerId timer) {
  timers_.erase(timer);
}

void Session::keepBlame(const Error& error) {
  spdlog::warn("migration={} phase={} failed: {}", record_.id.str(), record_.phase, error.sentence());
  note(error.sentence());
  if (!blame_.empty()) return;
  blame_ = error.sentence();
  if (const auto kept = services_.journal.setFact(record_.id, record_.role, blameFact(error.code), blame_);
      !kept) {
    spdlog::error("migration={} journal: {}", record_.id.str(), kept.error().sentence());
  }
}

void Session::sayDegraded(const Error& error) {
  const std::string sentence = error.sentence();
  if (record_.outcome == Outcome::kDegraded && record_.error == sentence) return;
  spdlog::error("migration={} phase={} degraded: {}", record_.id.str(), record_.phase, sentence);
  record_.outcome = Outcome::kDegraded;
  record_.error = sentence;
  if (const auto written = services_.journal.finish(record_.id, record_.role, Outcome::kDegraded, sentence);
      !written) {
    spdlog::error("migration={} journal: {}", record_.id.str(), written.error().sentence());
  }
  publish(sentence);
}

/// Nothing is over before the journal says so: an end that only we knew would keep the VM from its next
/// migration, and its lease taken, until the daemon is started anew.
void Session::finish(Outcome outcome, const std::string& message) {
  constexpr std::chrono::milliseconds kTryAgain{1000};
  const std::string error = outcome == Outcome::kCompleted ? std::string() : blame_;
  if (const auto written = services_.journal.finish(record_.id, record_.role, outcome, error); !written) {
    spdlog::error("migration={} journal: {}", record_.id.str(), written.error().sentence());
    const bool over_otherwise =
        written.error().code == ErrorCode::kConflict || written.error().code == ErrorCode::kNotFound;
    if (!over_otherwise) {
      finish_again_ = services_.timers.after(kTryAgain, [weak = weak_from_this(), outcome, message] {
        if (const auto self = weak.lock()) self->finish(outcome, message);
      });
      return;
    }
  }
  record_.outcome = outcome;
  record_.error = error;
  spdlog::info("migration={} phase={} outcome={}", record_.id.str(), record_.phase, toString(outcome));
  publish(outcome == Outcome::kCompleted ? message : record_.error);
}

void Session::note(const std::string& text) {
  if (const auto written =
          services_.journal.mark(record_.id, record_.role, record_.phase, StepMark::kNote, text);
      !written) {
    spdlog::error("migration={} journal: {}", record_.id.str(), written.error().sentence());
  }
}

void Session::guestDid(const std::string& what, std::chrono::milliseconds took) {
  if (const auto written = services_.journal.mark(record_.id, record_.role, what, StepMark::kGuest,
                                                  std::to_string(took.count()));
      !written) {
    spdlog::error("migration={} journal: {}", record_.id.str(), written.error().sentence());
  }
}

void Session::guestTookUp(const RestoreOutcome& outcome) {
  guestDid("Taking up", outcome.took);
  for (const RestoredDevice& device : outcome.devices) {
    note(fmt::format("the guest has {} back as {} on {}: {}{}", device.alias.str(), device.rdma,
                     device.netdev, fmt::join(device.addresses, ", "),
                     device.managed_by.empty() ? "" : " (by " + device.managed_by + ")"));
  }
  for (const std::string& warning : outcome.warnings) note("the guest: " + warning);
}

void Session::publish(const std::string& message) {
  services_.bulletin.publish({record_, progress_, message});
}

void Session::later(std::function<void()> what) {
  boost::asio::post(services_.loop, [weak = weak_from_this(), what = std::move(what)] {
    if (const auto self = weak.lock()) what();
  });
}

}  // namespace rdmove
