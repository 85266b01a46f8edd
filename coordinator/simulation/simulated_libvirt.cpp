#include "coordinator/simulation/simulated_libvirt.hpp"

#include <fmt/format.h>

#include "coordinator/fabric/device_source.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/simulation/live_migration.hpp"

namespace rdmove::simulation {
namespace {

constexpr Duration kJobLock = seconds(30);

const char* words(DomainState state) {
  switch (state) {
    case DomainState::kRunning:
      return "running";
    case DomainState::kPaused:
      return "paused (user)";
    case DomainState::kPausedByMigration:
      return "paused (migrating)";
    case DomainState::kPausedPostcopy:
      return "paused (post-copy)";
    case DomainState::kShutOff:
      return "shut off";
    default:
      return "unknown";
  }
}

}  // namespace

Result<void> SimulatedLibvirt::call(const std::string& attempted) {
  world_.fibers.sleep(world_.random.between(Duration(100), milliseconds(4)));
  if (host_.libvirtd_up) return {};
  return failure(ErrorCode::kUnavailable, attempted, "libvirtd does not answer");
}

Result<SimulatedLibvirt::Target> SimulatedLibvirt::on(const DomainUuid& uuid, const std::string& attempted,
                                                      bool active) {
  if (auto reached = call(attempted); !reached) return tl::unexpected(reached.error());
  Guest* guest = world_.guest(uuid);
  Domain* domain = host_.domain(uuid);
  if (guest == nullptr || domain == nullptr)
    return failure(ErrorCode::kNotFound, attempted, "there is no such domain");
  if (active && !domain->active())
    return failure(ErrorCode::kRefused, attempted, "the domain is not running");
  return Target{*guest, *domain};
}

Result<void> SimulatedLibvirt::waitForJob(const DomainUuid& uuid, const std::string& attempted) {
  const Duration until = world_.agenda.now() + kJobLock;
  while (true) {
    const Domain* domain = host_.domain(uuid);
    if (domain == nullptr || !domain->active())
      return failure(ErrorCode::kRefused, attempted, "the domain is not running");
    if (domain->job == Job::kNone) return {};
    if (world_.agenda.now() >= until)
      return failure(ErrorCode::kConflict, attempted, "cannot acquire state change lock");
    world_.fibers.sleep(milliseconds(100));
    if (!host_.libvirtd_up) return failure(ErrorCode::kUnavailable, attempted, "libvirtd went away");
  }
}

Result<void> SimulatedLibvirt::done(Duration time, std::function<Result<void>()> effect) {
  const auto result = std::make_shared<Result<void>>();
  world_.fibers.await([&](std::function<void()> wake) {
    world_.agenda.after(time, [effect = std::move(effect), result, wake = std::move(wake)] {
      *result = effect();
      wake();
    });
  });
  world_.fibers.sleep(world_.random.between(Duration(50), milliseconds(2)));
  return *result;
}

DomainStatus SimulatedLibvirt::statusOf(const Guest& guest, const Domain& domain) const {
  DomainStatus status;
  status.name = guest.name;
  status.uuid = guest.uuid;
  status.state = domain.state;
  status.run_reason = domain.reason;
  status.persistent = domain.definition.has_value();
  status.migration_job = domain.job != Job::kNone;
  status.state_text = words(domain.state);
  return status;
}

Result<DomainStatus> SimulatedLibvirt::find(const std::string& name_or_uuid) {
  if (auto reached = call("find " + name_or_uuid); !reached) return tl::unexpected(reached.error());
  for (const auto& [uuid, domain] : host_.domains) {
    const Guest& guest = *world_.guest(uuid);
    if (guest.name == name_or_uuid || uuid.str() == name_or_uuid) return statusOf(guest, domain);
  }
  return failure(ErrorCode::kNotFound, "find " + name_or_uuid, "there is no such domain");
}

Result<std::vector<DomainStatus>> SimulatedLibvirt::list() {
  if (auto reached = call("list the domains"); !reached) return tl::unexpected(reached.error());
  std::vector<DomainStatus> all;
  for (const auto& [uuid, domain] : host_.domains) all.push_back(statusOf(*world_.guest(uuid), domain));
  return all;
}

Result<std::string> SimulatedLibvirt::xml(const DomainUuid& uuid, XmlKind kind) {
  const auto target = on(uuid, "read the XML of " + uuid.str(), false);
  if (!target) return tl::unexpected(target.error());
  if (kind == XmlKind::kInactive && target->domain.definition) return *target->domain.definition;
  return world_.liveXml(target->guest, target->domain);
}

Result<void> SimulatedLibvirt::define(const std::string& xml) {
  const std::string attempted = "define a domain";
  if (auto reached = call(attempted); !reached) return reached;
  for (const Guest& guest : world_.guests) {
    if (xml.find(guest.uuid.str()) == std::string::npos) continue;
    host_.domains[guest.uuid].definition = xml;
    return {};
  }
  return failure(ErrorCode::kBadInput, attempted, "it has no UUID");
}

Result<std::optional<std::string>> SimulatedLibvirt::metadata(const DomainUuid& uuid, XmlKind) {
  const auto target = on(uuid, "read the metadata of " + uuid.str(), false);
  if (!target) return tl::unexpected(target.error());
  return std::optional<std::string>(target->guest.metadata);
}

Result<void> SimulatedLibvirt::setMetadata(const DomainUuid& uuid, XmlKind,
                                           const std::optional<std::string>&) {
  return failure(ErrorCode::kInternal, "write the metadata of " + uuid.str(), "it is not simulated");
}

Result<void> SimulatedLibvirt::detach(const DomainUuid& uuid, const DeviceAlias& alias) {
  const std::string attempted = "ask for the removal of " + alias.str();
  const auto target = on(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (auto free = waitForJob(uuid, attempted); !free) return free;
  Domain* domain = host_.domain(uuid);
  if (!domain->device) return failure(ErrorCode::kNotFound, attempted, "there is no such device");
  if (!domain->device->leaving) {
    domain->device->leaving = true;
    world_.agenda.after(world_.random.between(milliseconds(5), milliseconds(400)),
                        [&world = world_, &host = host_, uuid] { guestUnplugs(world, host, uuid); });
  }
  world_.fibers.sleep(world_.random.between(Duration(50), milliseconds(2)));
  return {};
}

void guestUnplugs(World& world, Host& host, const DomainUuid& uuid) {
  Domain* domain = host.domain(uuid);
  if (domain == nullptr || !domain->active() || !domain->device || !domain->device->leaving) return;
  const auto later = [&] {
    world.agenda.after(milliseconds(250), [&world, &host, uuid] { guestUnplugs(world, host, uuid); });
  };
  if (!domain->runs()) return later();
  switch (world.guest_troubles[uuid].unplug) {
    case Unplug::kHeld:
      return later();
    case Unplug::kIgnored:  // it was not listening, and hears of it only when it is asked again
      domain->device->leaving = false;
      return;
    case Unplug::kRefused:
      domain->device->leaving = false;
      return world.tell(host, [uuid](HypervisorListener& to) { to.onDeviceRemovalFailed(uuid, kAlias); });
    case Unplug::kLeaves:
      world.say(fmt::format("{}: {} has given its device up", host.name.str(), world.guest(uuid)->name));
      world.detached(host, *world.guest(uuid), *domain);
      return world.tell(host, [uuid](HypervisorListener& to) { to.onDeviceRemoved(uuid, kAlias); });
  }
}

Result<void> SimulatedLibvirt::takeFromHost(const std::string& pci) {
  if (auto reached = call("take " + pci + " from the host"); !reached) return reached;
  return done(world_.random.between(milliseconds(20), milliseconds(400)),
              [&host = host_, pci]() -> Result<void> {
                host.vf(VfName(pci))->with_vfio = true;
                return {};
              });
}

Result<void> SimulatedLibvirt::giveToHost(const std::string& pci) {
  if (auto reached = call("give " + pci + " to the host"); !reached) return reached;
  return done(world_.random.between(milliseconds(20), milliseconds(400)),
              [&world = world_, &host = host_, pci]() -> Result<void> {
                for (const auto& [uuid, domain] : host.domains) {
                  if (!domain.device || domain.device->vf.str() != pci) continue;
                  world.broken({"a VF has one VM", pci + " was to be given to the host"});
                  return failure(ErrorCode::kConflict, "give " + pci + " to the host", "a domain has it");
                }
                VirtualFunction* vf = host.vf(VfName(pci));
                vf->with_vfio = vf->home.empty();
                return {};
              });
}

Result<void> SimulatedLibvirt::attach(const DomainUuid& uuid, const std::string& element) {
  const std::string attempted = "attach a device to " + uuid.str();
  const auto target = on(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (auto free = waitForJob(uuid, attempted); !free) return free;
  return done(world_.random.between(milliseconds(2), milliseconds(80)),
              [&world = world_, &host = host_, uuid, element] { return plug(world, host, uuid, element); });
}

Result<void> plug(World& world, Host& host, const DomainUuid& uuid, const std::string& element) {
  const std::string attempted = "attach a device to " + uuid.str();
  Domain* domain = host.domain(uuid);
  if (domain == nullptr || !domain->active())
    return failure(ErrorCode::kRefused, attempted, "the domain is not running");
  if (host.troubles.attaches_that_fail > 0) {
    --host.troubles.attaches_that_fail;
    return failure(ErrorCode::kInternal, attempted, "QEMU refuses it");
  }
  if (domain->device) {
    if (sameForGuest(domain->device->element, element) && sameOnHost(domain->device->element, element)) return {};
    return failure(ErrorCode::kRefused, attempted, "it has another device of that alias");
  }
  const VfName name(fabric::readDeviceSource(element)->pci.value_or(""));
  VirtualFunction* vf = host.vf(name);
  if (vf == nullptr) return failure(ErrorCode::kNotFound, attempted, "there is no such VF");
  if (!vf->with_vfio)
    return failure(ErrorCode::kRefused, attempted, "unmanaged PCI device must be manually detached");
  if (vf->unusable) return failure(ErrorCode::kInternal, attempted, "vfio: its group is not viable");
  for (const auto& [other, taken] : host.domains) {
    if (taken.device && taken.device->vf == name) {
      world.broken({"a VF has one VM", name.str() + " was to be given to a second domain"});
      return failure(ErrorCode::kConflict, attempted, "the VF is in use");
    }
  }
  const Guest& guest = *world.guest(uuid);
  world.say(fmt::format("{}: {} gets {}", host.name.str(), guest.name, name.str()));
  domain->device = Device{element, name, false};
  if (!guest.infiniband) {
    vf->put_back = vf->address;
    vf->address = guest.address;
  }
  return {};
}

Result<std::unique_ptr<ByteChannel>> SimulatedLibvirt::openChannel(const DomainUuid&, const std::string& port,
                                                                   ChannelListener&) {
  return failure(ErrorCode::kInternal, "open " + port, "the agent is simulated as a whole");
}

}  // namespace rdmove::simulation
