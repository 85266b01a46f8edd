#include "coordinator/evacuation/survey.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"

namespace rdmove::evacuation {
namespace {

/// Why it cannot move, or an empty text: then `need` is filled in.
std::string lookAt(Hypervisor& hypervisor, const DomainStatus& status, const std::string& element,
                   Need& need) {
  if (status.state != DomainState::kRunning) return fmt::format("it is not running ({})", status.state_text);
  const auto declaration = parseDeclaration(element);
  if (!declaration) return declaration.error().sentence();
  for (const VfDeclaration& vf : declaration->vfs) ++need.vfs[vf.pool];
  const auto xml = hypervisor.xml(status.uuid, XmlKind::kLive);
  if (!xml) return xml.error().sentence();
  const auto size = domainSize(*xml);
  if (!size) return size.error().sentence();
  need.memory_kib = size->memory_kib;
  need.vcpus = size->vcpus;
  return {};
}

}  // namespace

Result<std::vector<Candidate>> candidates(Hypervisor& hypervisor, const HostName& host,
                                          const std::map<DomainUuid, MigrationId>& busy,
                                          std::vector<Finding>& findings) {
  auto domains = hypervisor.list();
  if (!domains) return tl::unexpected(domains.error());
  std::sort(domains->begin(), domains->end(),
            [](const DomainStatus& a, const DomainStatus& b) { return a.name < b.name; });
  std::vector<Candidate> found;
  for (const DomainStatus& status : *domains) {
    const bool off = status.state == DomainState::kShutOff;
    const auto element = hypervisor.metadata(status.uuid, off ? XmlKind::kInactive : XmlKind::kLive);
    if (!element && element.error().code == ErrorCode::kNotFound) continue;  // it went away meanwhile
    if (element && !*element) continue;
    if (off) {
      findings.push_back({Severity::kWarning, "shut-off",
                          fmt::format("{} is shut off: it stays defined on {}.", status.name, host.str()), "",
                          host.str()});
      continue;
    }
    Candidate candidate;
    candidate.need.uuid = status.uuid;
    candidate.need.domain = status.name;
    if (const auto migration = busy.find(status.uuid); migration != busy.end()) {
      candidate.why_not = fmt::format("its migration {} is not over", migration->second.str());
    } else {
      candidate.why_not =
          element ? lookAt(hypervisor, status, **element, candidate.need) : element.error().sentence();
    }
    found.push_back(std::move(candidate));
  }
  return found;
}

Rooms askRooms(Partners& partners, const std::vector<HostName>& destinations) {
  Rooms all;
  for (const HostName& name : destinations) {
    const auto partner = partners.find(name);
    auto room = partner ? (*partner)->room() : Result<HostRoom>(tl::unexpected(partner.error()));
    if (room) {
      room->host = name;
      all.rooms.push_back(std::move(*room));
    } else {
      all.silent[name] = room.error().sentence();
    }
  }
  return all;
}

}  // namespace rdmove::evacuation
