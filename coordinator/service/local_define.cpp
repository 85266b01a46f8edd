// rdmove define: the metadata that says which devices of a VM move, live and persistent.
#include <fmt/format.h>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/migration/markup.hpp"
#include "coordinator/preflight/identity_claims.hpp"
#include "coordinator/service/convert.hpp"
#include "coordinator/service/local_service.hpp"

namespace rdmove {
namespace {

/// The identity's attributes but for the MAC, read by the metadata's own reader; its sentence says which is
/// wrong.
Result<Identity> identityOf(const v1::VfSpec& spec, const std::string& what) {
  std::string attributes;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) attributes += fmt::format(" {}='{}'", escapedMarkup(name), escapedMarkup(value));
  };
  for (const auto& [name, value] : spec.settings()) add(name, value);
  add("vlan", spec.vlan() == 0 ? "" : std::to_string(spec.vlan()));
  add("node-guid", spec.node_guid());
  add("port-guid", spec.port_guid());
  add("pkeys", spec.pkeys());
  const auto read = parseDeclaration(fmt::format(
      "<rdma><vf alias='ua-device' pool='pool' model='roce'><identity{}/></vf></rdma>", attributes));
  if (!read) return failure(ErrorCode::kBadInput, what, read.error().cause, read.error().remedy);
  return read->vfs.front().identity;
}

Result<VfDeclaration> declare(const v1::VfSpec& spec, const std::string& domain_xml, const Config& config) {
  VfDeclaration vf;
  vf.alias = DeviceAlias(spec.alias());
  vf.pool = PoolName(spec.pool());
  const std::string what = "declare " + spec.alias();
  if (config.pools.count(vf.pool) == 0) {
    return failure(ErrorCode::kNotFound, what, "pool " + spec.pool() + " is not configured on this host",
                   "Name a pool of rdmoved.toml.");
  }
  const auto model = parseModel(spec.model().empty() ? "roce" : spec.model());
  if (!model)
    return failure(ErrorCode::kBadInput, what, "there is no model " + spec.model(),
                   "Use shared-port, virtual-switch or roce.");
  const auto continuity = parseContinuity(spec.continuity().empty() ? "reconnect" : spec.continuity());
  if (!continuity) {
    return failure(ErrorCode::kBadInput, what, "there is no continuity " + spec.continuity(),
                   "Use reconnect, park or carry.");
  }
  vf.model = *model;
  vf.continuity = *continuity;
  const auto device = findDevice(domain_xml, vf.alias);
  if (!device) return tl::unexpected(device.error());
  auto identity = identityOf(spec, what);
  if (!identity) return tl::unexpected(identity.error());
  vf.identity = std::move(*identity);
  vf.identity.mac = spec.mac().empty() ? device->mac : MacAddress::parse(spec.mac());
  // A plain <hostdev> has no MAC of libvirt's, so it may be given any.
  const bool free_choice = device->kind == "hostdev" && !device->mac && vf.identity.mac;
  if (!spec.mac().empty() && !free_choice && vf.identity.mac != device->mac) {
    return failure(
        ErrorCode::kBadInput, what,
        "its MAC is " + (device->mac ? device->mac->str() : std::string("not set")) + ", not " + spec.mac(),
        "Leave mac out to take the device's own.");
  }
  return vf;
}

}  // namespace

grpc::Status LocalService::Define(grpc::ServerContext*, const v1::DefineRequest* request,
                                  v1::DefineReply* reply) {
  const auto status = services_.hypervisor.find(request->domain());
  if (!status) return toLocalStatus(status.error());
  const bool live = status->state != DomainState::kShutOff;
  if (!request->remove() && request->vfs().empty()) {
    return toLocalStatus(Error{ErrorCode::kBadInput, "", "no device is named",
                               "Use --vf alias=ALIAS,pool=POOL, or --remove."});
  }
  std::optional<std::string> element;
  if (!request->remove()) {
    const auto xml = services_.hypervisor.xml(status->uuid, live ? XmlKind::kLive : XmlKind::kInactive);
    if (!xml) return toLocalStatus(xml.error());
    DomainDeclaration declaration;
    const auto claims = identityClaims(services_.hypervisor);
    if (!claims) return toLocalStatus(claims.error());
    for (const v1::VfSpec& spec : request->vfs()) {
      const auto vf = declare(spec, *xml, services_.config);
      if (!vf) return toLocalStatus(vf.error());
      if (const auto twice = claimedTwice(vf->identity, status->uuid, *claims)) {
        return toLocalStatus(Error{ErrorCode::kConflict, "declare " + vf->alias.str(), *twice,
                                   "An address may be one VM's only."});
      }
      declaration.vfs.push_back(*vf);
    }
    if (!request->standby().empty()) {
      declaration.standby = DeviceAlias(request->standby());
      if (const auto device = findDevice(*xml, *declaration.standby); !device)
        return toLocalStatus(device.error());
    }
    element = formatDeclaration(declaration);
    if (const auto again = parseDeclaration(*element); !again) return toLocalStatus(again.error());
    reply->set_metadata(*element);
  }
  if (request->dry_run()) return grpc::Status::OK;
  if (live) {
    if (auto written = services_.hypervisor.setMetadata(status->uuid, XmlKind::kLive, element); !written) {
      return toLocalStatus(written.error());
    }
    reply->set_live(true);
  }
  if (status->persistent) {
    if (auto written = services_.hypervisor.setMetadata(status->uuid, XmlKind::kInactive, element);
        !written) {
      return toLocalStatus(written.error());
    }
    reply->set_persistent(true);
  }
  return grpc::Status::OK;
}

}  // namespace rdmove
