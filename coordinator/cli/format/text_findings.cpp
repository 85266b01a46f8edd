#include <fmt/format.h>

#include <algorithm>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"
#include "coordinator/cli/format/text_formatter.hpp"

namespace rdmove::cli {
namespace {

std::string_view word(v1::Finding::Severity severity) {
  switch (severity) {
    case v1::Finding::OK:
      return "ok";
    case v1::Finding::WARNING:
      return "warning";
    default:
      return "error";  // a severity from a newer daemon is taken for the worst
  }
}

}  // namespace

std::string findingsAsText(const google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  std::vector<const v1::Finding*> sorted;
  for (const auto& finding : findings) sorted.push_back(&finding);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->severity() > b->severity(); });
  std::string out;
  for (const v1::Finding* finding : sorted) {
    const std::string host = finding->host().empty() ? "" : " (" + printable(finding->host()) + ")";
    out += fmt::format("{:<8} {}{}: {}\n", word(finding->severity()), printable(finding->code()), host,
                       printable(finding->sentence()));
    if (!finding->remedy().empty()) out += fmt::format("{:<8} {}\n", "", printable(finding->remedy()));
  }
  return out;
}

std::string planAsText(const v1::PlanSummary& plan) {
  std::string out =
      fmt::format("{} ({}) from {} to {}, {}\n", printable(plan.domain()), printable(plan.uuid()),
                  printable(plan.source()), printable(plan.destination()),
                  plan.persistent() ? "persistent" : "transient");
  Table table({"ALIAS", "POOL", "MODEL", "CONTINUITY", "MAC", "GUEST PCI", "VF"});
  for (const auto& vf : plan.vfs()) {
    table.add({vf.alias(), vf.pool(), vf.model(), vf.continuity(), vf.mac(), vf.guest_pci_address(),
               vf.source_vf()});
  }
  return plan.vfs().empty() ? out : out + table.str(2);
}

std::string TextFormatter::format(const v1::ExamineReply& reply) const {
  std::string out = findingsAsText(reply.findings());
  if (reply.has_plan()) out += planAsText(reply.plan());
  return out;
}

std::string TextFormatter::format(const v1::DoctorReply& reply) const {
  if (reply.findings().empty()) return "nothing to report\n";
  std::ptrdiff_t errors = 0;
  std::ptrdiff_t warnings = 0;
  for (const auto& finding : reply.findings()) {
    if (finding.severity() == v1::Finding::WARNING) ++warnings;
    if (finding.severity() > v1::Finding::WARNING) ++errors;
  }
  return findingsAsText(reply.findings()) +
         fmt::format("{} checks: {} errors, {} warnings\n", reply.findings_size(), errors, warnings);
}

}  // namespace rdmove::cli
