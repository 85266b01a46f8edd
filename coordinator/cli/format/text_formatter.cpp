#include "coordinator/cli/format/text_formatter.hpp"

#include <fmt/format.h>

#include "coordinator/cli/format/agent_object.hpp"
#include "coordinator/cli/format/applications.hpp"
#include "coordinator/cli/format/json_formatter.hpp"
#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"
#include "coordinator/cli/format/timeline_reply.hpp"
#include "coordinator/cli/format/traffic.hpp"

namespace rdmove::cli {
namespace {

std::string line(const std::string& text) {
  return printable(text) + '\n';
}

}  // namespace

std::unique_ptr<Formatter> makeFormatter(OutputForm form, int width) {
  if (form == OutputForm::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<TextFormatter>(width);
}

std::string TextFormatter::format(const v1::CancelReply& reply) const {
  return line(reply.message().empty() ? "cancel was asked for" : reply.message());
}

std::string TextFormatter::format(const v1::ResolveReply& reply) const {
  if (!reply.message().empty()) return line(reply.message());
  std::string text = line((reply.id().empty() ? "" : reply.id() + ": ") + reply.predicament());
  if (reply.choices().empty()) return text + "No word is needed.\n";
  for (const auto& choice : reply.choices())
    text += line("  --" + choice.word() + ": " + choice.consequence());
  return text;
}

std::string TextFormatter::format(const v1::ListReply& reply) const {
  const std::string evacuations =
      reply.evacuations().empty() ? "" : evacuationsAsText(reply.evacuations()) + '\n';
  if (reply.migrations().empty()) return evacuations + "no migrations\n";
  Table table({"ID", "ROLE", "VM", "PARTNER", "PHASE", "OUTCOME", "UPDATED"});
  for (const auto& m : reply.migrations()) {
    table.add({m.id(), m.role(), m.domain(), m.partner(), m.phase(), m.outcome(), wallTime(m.updated_us())});
  }
  return evacuations + table.str();
}

std::string TextFormatter::format(const v1::TimelineReply& reply) const {
  return renderText(timelineOf(reply), width_);
}

std::string TextFormatter::format(const v1::QueryAgentReply& reply, std::string_view query) const {
  if (query == "apps") {
    if (const auto table = applicationsAsTable(reply.json())) return *table;
  }
  if (query == "counters") {
    if (const auto ports = readPorts(reply.json())) return portsAsTable(*ports, Counted::kInAll);
  }
  return agentObjectAsText(reply.json());
}

std::string TextFormatter::format(const v1::DefineReply& reply) const {
  const std::string_view where = reply.live() && reply.persistent() ? "live and persistent definition"
                                 : reply.live()                     ? "live definition"
                                 : reply.persistent()               ? "persistent definition"
                                                                    : "nothing written";
  if (reply.metadata().empty()) return fmt::format("no rdma metadata ({})\n", where);
  std::string text = printableLines(reply.metadata());
  if (text.back() != '\n') text += '\n';
  return text + fmt::format("({})\n", where);
}

}  // namespace rdmove::cli
