#include <fmt/format.h>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"
#include "coordinator/cli/format/text_formatter.hpp"
#include "coordinator/cli/format/traffic.hpp"

namespace rdmove::cli {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// For a daemon that left the message empty.
std::string wordsFor(const v1::MigrationSummary& m) {
  if (m.outcome() == "Completed") {
    return m.role() == "arrival" ? m.domain() + " arrived from " + m.partner()
                                 : m.domain() + " runs on " + m.partner();
  }
  if (m.outcome() == "Refused") return m.domain() + " was not moved, nothing was changed";
  if (m.outcome() == "RolledBack") return m.domain() + " was not moved, all is as it was";
  if (m.outcome() == "Degraded") return m.domain() + " runs degraded and is still being repaired";
  return m.domain() + ": " + m.outcome();
}

void addField(std::string& out, std::string_view name, const std::string& value) {
  if (!value.empty()) out += fmt::format("{:<12}{}\n", name, printable(value));
}

}  // namespace

std::string closingSentence(const v1::MigrationUpdate& update) {
  const auto& m = update.migration();
  std::string text = update.message().empty() ? wordsFor(m) : update.message();
  if (!m.error().empty() && !contains(text, m.error())) text += ": " + m.error();
  if (contains(text, m.id())) return printable(text);
  while (!text.empty() && text.back() == '.') text.pop_back();
  return printable(text + ". migration " + m.id());
}

std::string TextFormatter::format(const v1::MigrationUpdate& update) const {
  if (update.final()) return closingSentence(update) + '\n';
  const auto& m = update.migration();
  const std::string message = update.message().empty() ? "" : ": " + printable(update.message());
  return fmt::format("{} {}{}\n", printable(m.id()), printable(m.phase()), message);
}

std::string TextFormatter::format(const v1::ShowReply& reply) const {
  if (reply.has_evacuation()) return evacuationAsText(reply.evacuation());
  const auto& m = reply.migration();
  std::string out;
  addField(out, "migration", m.id());
  addField(out, "role", m.role());
  addField(out, "vm", m.domain() + " (" + m.uuid() + ")");
  addField(out, "partner", m.partner());
  addField(out, "phase", m.phase());
  addField(out, "outcome", m.outcome());
  addField(out, "error", m.error());
  addField(out, "created", wallTime(m.created_us()));
  addField(out, "updated", wallTime(m.updated_us()));
  if (reply.has_plan()) out += "\nplan: " + planAsText(reply.plan());
  if (!reply.leases().empty()) {
    Table leases({"ALIAS", "POOL", "VF", "LEASE"});
    for (const auto& lease : reply.leases()) {
      leases.add(
          {lease.alias(), lease.pool(), lease.vf(), lease.permanent() ? "until proven over" : "expires"});
    }
    out += "\nleases:\n" + leases.str(2);
  }
  if (!reply.facts().empty()) {
    Table facts({"FACT", "VALUE"});
    for (const auto& fact : reply.facts()) facts.add({fact.name(), fact.value()});
    out += "\nfacts:\n" + facts.str(2);
  }
  for (const auto& snapshot : reply.traffic()) {
    out += fmt::format("\ntraffic {}:\n", printable(snapshot.when()));
    out += portsAsTable(readPorts(snapshot.devices()), Counted::kInAll, 2);
  }
  if (!reply.steps().empty()) {
    Table steps({"TIME", "SOURCE", "STEP", "MARK", "DETAIL"});
    for (const auto& step : reply.steps()) {
      steps.add({wallTime(step.wall_us()), step.source(), step.step(), step.mark(), step.detail()});
    }
    out += "\nsteps:\n" + steps.str(2);
  }
  return out;
}

}  // namespace rdmove::cli
