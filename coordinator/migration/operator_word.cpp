#include "coordinator/migration/operator_word.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace rdmove {
namespace {

constexpr std::array<std::pair<OperatorWord, const char*>, 3> kWords{{
    {OperatorWord::kSourceIsDead, "source-is-dead"},
    {OperatorWord::kDestinationIsDead, "destination-is-dead"},
    {OperatorWord::kRunsThere, "runs-there"},
}};

Predicament ofDeparture(const MigrationRecord& record) {
  const std::string& vm = record.domain;
  const std::string there = record.partner.str();
  if (record.phase == "Recalling" || record.phase == "Replugging") {
    return {fmt::format("The way back waits while {0} does not run here and {1} has not said whether it runs there.", vm,
                        there),
            {{OperatorWord::kDestinationIsDead,
              fmt::format("{} goes on here if it is here; if not, it has ended, and the migration with it.", vm)},
             {OperatorWord::kRunsThere,
              fmt::format("What is left of {} here is removed, and the migration ends without waiting for {}.", vm, there)}}};
  }
  if (record.phase == "Settling") {
    return {fmt::format("The switch to {} had begun, and {} has not said whether {} runs there.", there,
                        there, vm),
            {{OperatorWord::kDestinationIsDead,
              fmt::format("{0} is resumed here and gets its device back. If it can have run on {1} for a "
                          "while, its disks are newer than its memory: type 'virsh destroy {0}' first, and "
                          "start it anew afterwards.",
                          vm, there)},
             {OperatorWord::kRunsThere,
              fmt::format("What is paused here is destroyed, and the migration ends without waiting for {}.", there)}}};
  }
  if (record.phase == "Handover" || record.phase == "Releasing") {
    return {fmt::format("{} runs on {}, which has not said that it is whole.", vm, there),
            {{OperatorWord::kDestinationIsDead,
              fmt::format("{0} ended with {1}. What is left of it here is destroyed, its definition on this host "
                          "(if there is one) stays, its VFs go to their pool.",
                          vm, there)},
             {OperatorWord::kRunsThere,
              fmt::format("The migration ends without waiting for {} any longer. What is left of {} here is removed.",
                          there, vm)}}};
  }
  return {fmt::format("It is in {}, which goes on by itself.", record.phase), {}};
}

Predicament ofArrival(const MigrationRecord& record) {
  if (record.phase == "Reserved") {
    return {fmt::format("{} has not said that it took the identity of {} off its own VFs.",
                        record.partner.str(), record.domain),
            {{OperatorWord::kSourceIsDead,
              fmt::format("{} gets its device here as soon as it runs here.", record.domain)}}};
  }
  return {fmt::format("It is in {}, which goes on by itself.", record.phase), {}};
}

}  // namespace

const char* toString(OperatorWord word) {
  for (const auto& [each, text] : kWords) {
    if (each == word) return text;
  }
  return "unknown";
}

std::optional<OperatorWord> parseOperatorWord(std::string_view text) {
  for (const auto& [word, each] : kWords) {
    if (text == each) return word;
  }
  return std::nullopt;
}

Predicament predicamentOf(const MigrationRecord& record) {
  if (isFinished(record.outcome))
    return {fmt::format("It is over ({}).", toString(record.outcome)), {}};
  return record.role == Role::kDeparture ? ofDeparture(record) : ofArrival(record);
}

}  // namespace rdmove
