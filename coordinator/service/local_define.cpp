// rdmove define: the metadata that says which devices of a VM move, live and persistent.
#include <fmt/format.h>

#include <tuple>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/service/convert.hpp"
#include "coordinator/service/local_service.hpp"

namespace rdmove {
namespace {

/// VLAN, GUIDs and P_Keys; the sentence says which is wrong.
Result<void> declareRest(const v1::VfSpec& spec, Identity& identity, const std::string& what) {
  const auto wrong = [&](const char* key, const Error& why) {
    return failure(ErrorCode::kBadInput, what, fmt::format("{}: {}", key, why.cause));
  };
  if (spec.vlan() > 4094)
    return failure(ErrorCode::kBadInput, what, fmt::format("VLAN {} is not 1..4094", spec.vlan()));
  if (spec.vlan() > 0) identity.vlan = static_cast<int>(spec.vlan());
  for (const auto& [key, text, into] : {std::tuple{"node-guid", &spec.node_guid(), &identity.node_guid},
                                        std::tuple{"port-guid", &spec.port_guid(), &identity.port_guid}}) {
    if (text->empty()) continue;
    const auto guid = Guid::parse(*text);
    if (!guid) return wrong(key, guid.error());
    *into = *guid;
  }
  auto keys = parsePartitionKeys(spec.pkeys());
  if (!keys) return wrong("pkeys", keys.error());
  identity.pkeys = std::move(*keys);
  return {};
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
  vf.identity.mac = spec.mac().empty() ? device->mac : MacAddress::parse(spec.mac());
  // A plain <hostdev> has no MAC of libvirt's, so it may be given any.
  const bool free_choice = device->kind == "hostdev" && !device->mac && vf.identity.mac;
  if (!spec.mac().empty() && !free_choice && vf.identity.mac != device->mac) {
    return failure(
        ErrorCode::kBadInput, what,
        "its MAC is " + (device->mac ? device->mac->str() : std::string("not set")) + ", not " + spec.mac(),
        "Leave mac out to take the device's own.");
  }
  if (auto rest = declareRest(spec, vf.identity, what); !rest) return tl::unexpected(rest.error());
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
    for (const v1::VfSpec& spec : request->vfs()) {
      const auto vf = declare(spec, *xml, services_.config);
      if (!vf) return toLocalStatus(vf.error());
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
