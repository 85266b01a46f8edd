#include <fmt/format.h>

#include <map>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"
#include "coordinator/cli/format/text_formatter.hpp"

namespace rdmove::cli {
namespace {

using PoolCounts = google::protobuf::Map<std::string, google::protobuf::uint32>;

std::string poolsAsText(const PoolCounts& counts) {
  // protobuf's maps have no order of their own.
  const std::map<std::string, unsigned> sorted(counts.begin(), counts.end());
  std::string text;
  for (const auto& [pool, count] : sorted)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, pool);
  return text;
}

std::string listed(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string memory(unsigned long long kib) {
  return kib == 0 ? "" : byteCount(kib * 1024);
}

std::string limits(const v1::EvacuationSummary& evacuation) {
  std::string text = fmt::format("at most {} at a time", evacuation.max_parallel());
  if (evacuation.per_fabric() != 0) text += fmt::format(", {} of a fabric", evacuation.per_fabric());
  return text + (evacuation.peers_together() ? ", peers together" : "");
}

}  // namespace

std::string TextFormatter::format(const v1::EvacuationPlan& plan) const {
  const auto& evacuation = plan.evacuation();
  std::string out;
  if (evacuation.vms().empty()) {
    out = fmt::format("no VM that runs on {} has rdma metadata\n", printable(evacuation.host()));
  } else {
    out = fmt::format("{} VMs of {}, {}\n", evacuation.vms_size(), printable(evacuation.host()),
                      limits(evacuation));
    Table vms({"VM", "GOES TO", "MEMORY", "VCPUS", "VFS", "PEERS"});
    for (const auto& vm : evacuation.vms()) {
      vms.add({vm.domain(), vm.destination().empty() ? "nowhere" : vm.destination(), memory(vm.memory_kib()),
               vm.vcpus() == 0 ? "" : std::to_string(vm.vcpus()), poolsAsText(vm.vfs()), listed(vm.peers())});
    }
    out += vms.str();
    for (const auto& vm : evacuation.vms()) {
      if (vm.state() == "stayed")
        out += fmt::format("{} stays: {}\n", printable(vm.domain()), printable(vm.reason()));
    }
  }
  if (!plan.destinations().empty()) {
    Table rooms({"DESTINATION", "MEMORY FREE", "CPUS", "VCPUS", "VFS FREE"});
    for (const auto& room : plan.destinations()) {
      rooms.add({room.host(), memory(room.memory_kib()), std::to_string(room.cpus()),
                 std::to_string(room.vcpus()), poolsAsText(room.free_vfs())});
    }
    out += '\n' + rooms.str();
  }
  if (!plan.findings().empty()) out += '\n' + findingsAsText(plan.findings());
  return out;
}

std::string evacuationAsText(const v1::EvacuationSummary& evacuation) {
  std::string out = fmt::format(
      "evacuation  {}\nhost        {}\nto          {}\noutcome     {}{}\nlimits      {}\n"
      "created     {}\nupdated     {}\n\n",
      printable(evacuation.id()), printable(evacuation.host()), printable(listed(evacuation.destinations())),
      printable(evacuation.outcome()),
      evacuation.cancelled() && evacuation.outcome() == "Running" ? ", cancelled" : "", limits(evacuation),
      wallTime(evacuation.created_us()), wallTime(evacuation.updated_us()));
  Table vms({"VM", "STATE", "GOES TO", "MIGRATION", "PEERS", "WHY"});
  for (const auto& vm : evacuation.vms())
    vms.add({vm.domain(), vm.state(), vm.destination(), vm.migration(), listed(vm.peers()), vm.reason()});
  out += vms.str();
  for (const auto& vm : evacuation.vms()) {
    for (const auto& tried : vm.tried()) {
      out += fmt::format("{} was tried to {} before, as {}: {}\n", printable(vm.domain()),
                         printable(tried.destination()), printable(tried.migration()),
                         printable(tried.reason()));
    }
  }
  return out;
}

std::string evacuationsAsText(const google::protobuf::RepeatedPtrField<v1::EvacuationSummary>& evacuations) {
  Table table({"EVACUATION", "TO", "VMS", "MOVED", "OUTCOME", "UPDATED"});
  for (const auto& evacuation : evacuations) {
    int moved = 0;
    for (const auto& vm : evacuation.vms()) moved += vm.state() == "moved" ? 1 : 0;
    table.add({evacuation.id(), listed(evacuation.destinations()), std::to_string(evacuation.vms_size()),
               std::to_string(moved), evacuation.outcome(), wallTime(evacuation.updated_us())});
  }
  return table.str();
}

}  // namespace rdmove::cli
