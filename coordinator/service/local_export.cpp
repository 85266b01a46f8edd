// `rdmove export`: one migration and its surroundings, for whoever has to find out what went wrong.
#include <sys/utsname.h>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/service/convert.hpp"
#include "coordinator/service/local_service.hpp"
#include "coordinator/service/log_tail.hpp"
#include "coordinator/service/on_loop.hpp"

namespace rdmove {
namespace {

void add(google::protobuf::RepeatedPtrField<v1::NamedValue>& values, std::string name, std::string value) {
  auto* added = values.Add();
  added->set_name(std::move(name));
  added->set_value(std::move(value));
}

void addVersions(v1::ExportReply& reply, Hypervisor& hypervisor) {
  auto& versions = *reply.mutable_versions();
  add(versions, "rdmove", RDMOVE_VERSION);
  add(versions, "partner-api", std::to_string(kPartnerApi));
  const auto libvirt = hypervisor.version();
  add(versions, "libvirt", libvirt ? *libvirt : libvirt.error().sentence());
  utsname kernel{};
  if (uname(&kernel) == 0) add(versions, "kernel", std::string(kernel.sysname) + " " + kernel.release);
}

/// A URI's parameters may name key files.
std::string withoutParameters(const std::string& uri) {
  return uri.substr(0, uri.find('?'));
}

void addSettings(v1::ExportReply& reply, const Config& config) {
  auto& settings = *reply.mutable_settings();
  add(settings, "daemon.log_level", config.log_level);
  add(settings, "libvirt.uri", withoutParameters(config.libvirt_uri));
  add(settings, "partner_api.listen", config.partner_listen);
  add(settings, "partner_api.insecure", config.insecure ? "true" : "false");
  for (const auto& [key, member] : kTimeoutKeys)
    add(settings, std::string("timeouts.") + key, std::to_string((config.timeouts.*member).count()));
  for (const auto& [name, pool] : config.pools) {
    const bool bridge = pool.kind == PoolConfig::Kind::kBridge;
    std::string text = bridge ? "bridge " + pool.bridge : "sriov";
    for (const std::string& pf : pool.pfs) text += " " + pf;
    add(settings, "pools." + name.str(), text + (pool.soft_roce ? " soft_roce" : ""));
  }
  for (const auto& [name, partner] : config.partners) {
    add(settings, "partners." + name.str(),
        partner.address + " " + withoutParameters(partner.libvirt_uri) + " " +
            withoutParameters(partner.migration_uri));
  }
}

/// Of the domain only what rdmove has to do with: the rest of its XML is nobody's business here.
void addXml(v1::ExportReply& reply, Hypervisor& hypervisor, const MigrationRecord& record) {
  auto& all = *reply.mutable_xml();
  for (const auto& [kind, word] : {std::pair{XmlKind::kLive, "live"}, std::pair{XmlKind::kInactive, "persistent"}}) {
    if (const auto element = hypervisor.metadata(record.uuid, kind); element && *element)
      add(all, std::string(word) + " metadata", **element);
    const auto plan = planFromJson(record.plan);
    const auto xml = hypervisor.xml(record.uuid, kind);
    if (!plan || !xml) continue;
    for (const MovingVf& vf : plan->vfs) {
      const auto device = findDevice(*xml, vf.declaration.alias);
      add(all, std::string(word) + " " + vf.declaration.alias.str(),
          device ? device->element : device.error().sentence());
    }
  }
}

}  // namespace

grpc::Status LocalService::Export(grpc::ServerContext* context, const v1::ExportRequest* request,
                                  v1::ExportReply* reply) {
  const auto record = onLoop(services_.loop, [this, &request] { return coordinator_.find(request->id()); });
  if (!record) return toLocalStatus(record.error());
  const std::string& id = record->id.str();
  reply->set_host(services_.config.host.str());
  addVersions(*reply, services_.hypervisor);
  v1::ShowRequest show;
  show.set_id(id);
  if (const auto shown = Show(context, &show, reply->mutable_show()); !shown.ok()) return shown;
  v1::TimelineRequest timeline;
  timeline.set_id(id);
  if (const auto told = GetTimeline(context, &timeline, reply->mutable_timeline()); !told.ok()) return told;
  // What cannot be had now is said by doctor's findings.
  const v1::ListVfsRequest all;
  if (!ListVfs(context, &all, reply->mutable_vfs()).ok()) reply->clear_vfs();
  for (const Finding& finding : examiner_.examineHost()) *reply->add_findings() = toMessage(finding);
  addSettings(*reply, services_.config);
  addXml(*reply, services_.hypervisor, *record);
  for (std::string& line : logTail("migration=" + id + " ")) reply->add_log(std::move(line));
  return grpc::Status::OK;
}

}  // namespace rdmove
