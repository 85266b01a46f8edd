#include "coordinator/preflight/identity_claims.hpp"

#include <fmt/format.h>

#include "coordinator/hypervisor/metadata.hpp"

namespace rdmove {
namespace {

/// The address that both have; empty when none.
std::string common(const Identity& a, const Identity& b) {
  if (a.mac && a.mac == b.mac) return "MAC " + a.mac->str();
  if (a.port_guid && a.port_guid == b.port_guid) return "port GUID " + a.port_guid->str();
  if (a.node_guid && a.node_guid == b.node_guid) return "node GUID " + a.node_guid->str();
  return {};
}

}  // namespace

Result<std::vector<IdentityClaim>> identityClaims(Hypervisor& hypervisor) {
  const auto domains = hypervisor.list();
  if (!domains) return tl::unexpected(domains.error());
  std::vector<IdentityClaim> claims;
  for (const DomainStatus& domain : *domains) {
    const auto kind = domain.state == DomainState::kShutOff ? XmlKind::kInactive : XmlKind::kLive;
    const auto element = hypervisor.metadata(domain.uuid, kind);
    if (!element || !*element) continue;
    const auto declaration = parseDeclaration(**element);
    if (!declaration) continue;  // its own preflight says what is wrong with it
    for (const VfDeclaration& vf : declaration->vfs) claims.push_back({domain.name, domain.uuid, vf.identity});
  }
  return claims;
}

std::optional<std::string> claimedTwice(const Identity& identity, const DomainUuid& uuid,
                                        const std::vector<IdentityClaim>& claims) {
  for (const IdentityClaim& claim : claims) {
    if (claim.uuid == uuid) continue;
    if (const std::string what = common(identity, claim.identity); !what.empty())
      return fmt::format("{} is declared by {}, too", what, claim.domain);
  }
  return std::nullopt;
}

}  // namespace rdmove
