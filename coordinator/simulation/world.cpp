#include "coordinator/simulation/world.hpp"

#include <fmt/format.h>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/simulation/coordinator_process.hpp"
#include "coordinator/simulation/live_migration.hpp"

namespace rdmove::simulation {
namespace {

/// `first`: the pool is one fabric, so all guests have VFs of its kind.
Guest makeGuest(int number, Random& random, const Guest* first) {
  Guest guest;
  guest.name = fmt::format("vm{}", number);
  guest.ip = fmt::format("10.77.0.{}", number + 1);
  guest.uuid = DomainUuid(fmt::format("3a1c8f52-0000-4000-8000-00000000000{}", number));
  guest.persistent = random.percent(75);
  guest.infiniband = random.percent(50);
  if (first != nullptr) guest.infiniband = first->infiniband;
  VfDeclaration vf;
  vf.alias = kAlias;
  vf.pool = kPool;
  const std::string place = "<address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>";
  if (guest.infiniband) {
    guest.address = fmt::format("00:02:c9:03:00:00:aa:0{}", number);
    vf.model = Model::kVirtualSwitch;
    vf.identity.port_guid = *Guid::parse(guest.address);
    guest.device = fmt::format("<hostdev mode='subsystem' type='pci'><alias name='{}'/>{}</hostdev>",
                               kAlias.str(), place);
  } else {
    guest.address = fmt::format("52:54:00:77:00:0{}", number);
    vf.identity.mac = MacAddress::parse(guest.address);
    guest.device =
        fmt::format("<interface type='hostdev'><mac address='{}'/><alias name='{}'/>{}</interface>",
                    guest.address, kAlias.str(), place);
  }
  guest.metadata = formatDeclaration({{vf}, std::nullopt});
  return guest;
}

}  // namespace

VirtualFunction* Host::vf(const VfName& wanted) {
  for (VirtualFunction& each : vfs) {
    if (each.name == wanted) return &each;
  }
  return nullptr;
}

Domain* Host::domain(const DomainUuid& uuid) {
  const auto found = domains.find(uuid);
  return found == domains.end() ? nullptr : &found->second;
}

/// In a quarter of the worlds VFs that no VM has are with a driver of the host.
World::World(std::uint64_t seed) : random(seed), operators(seed % 8 == 7), broken_vfs(seed >= 400'000'000) {
  const int count = 1 + static_cast<int>(random.below(3));
  const int vfs = std::max(count, 2 + static_cast<int>(random.below(3)));
  for (Host& host : hosts) {
    host.number = static_cast<int>(&host - hosts.data());
    host.name = HostName(host.number == 0 ? "hosta" : "hostb");
    for (int i = 0; i < vfs; ++i) {
      VirtualFunction vf;
      vf.name = VfName(fmt::format("0000:3b:00.{}", i + 1));
      vf.own = vf.address = fmt::format("02:00:00:00:0{}:0{}", host.number, i);
      host.vfs.push_back(std::move(vf));
    }
  }
  for (int i = 0; i < count; ++i) {
    guests.push_back(makeGuest(i, random, guests.empty() ? nullptr : &guests.front()));
    const Guest& guest = guests.back();
    Host& home = hosts[random.below(2)];
    guests.back().lives_on = guests.back().first_host = home.number;
    guests.back().first_vf = home.vfs[static_cast<std::size_t>(i)].name;
    VirtualFunction& vf = home.vfs[static_cast<std::size_t>(i)];
    Domain domain;
    domain.state = DomainState::kRunning;
    domain.device = Device{*bindToVf(guest.device, vf.name.str(), std::nullopt), vf.name, false};
    vf.put_back = vf.address;
    vf.address = guest.address;
    if (guest.persistent) domain.definition = liveXml(guest, domain);
    home.domains[guest.uuid] = domain;
  }
  if (seed % 8 < 6) return;
  for (Host& host : hosts) {
    for (VirtualFunction& vf : host.vfs) {
      if (vf.address != vf.own) continue;
      vf.home = "mlx5_core";
      vf.with_vfio = false;
    }
  }
}

World::~World() {
  transfers.clear();
  for (Host& host : hosts) host.coordinator.reset();
}

Guest* World::guest(const DomainUuid& uuid) {
  for (Guest& each : guests) {
    if (each.uuid == uuid) return &each;
  }
  return nullptr;
}

std::string World::liveXml(const Guest& guest, const Domain& domain) const {
  return fmt::format(
      "<domain type='kvm'><name>{}</name><uuid>{}</uuid><metadata>{}</metadata>"
      "<memory unit='KiB'>4194304</memory><devices>{}</devices></domain>",
      guest.name, guest.uuid.str(), guest.metadata, domain.device ? domain.device->element : "");
}

/// libvirt puts back what an interface hostdev had before; of a plain hostdev it knows no address.
void World::detached(Host& host, const Guest& guest, Domain& domain) {
  if (!domain.device) return;
  VirtualFunction* vf = host.vf(domain.device->vf);
  if (!guest.infiniband && vf != nullptr) vf->address = vf->put_back;
  domain.device.reset();
}

void World::endDomain(Host& host, const DomainUuid& uuid, LifecycleDetail detail, Lifecycle event) {
  Domain* domain = host.domain(uuid);
  if (domain == nullptr || !domain->active()) return;
  say(fmt::format("{}: {} ends here", host.name.str(), guest(uuid)->name));
  detached(host, *guest(uuid), *domain);
  domain->state = DomainState::kShutOff;
  domain->reason = RunReason::kOther;
  domain->job = Job::kNone;
  if (!domain->definition) host.domains.erase(uuid);
  lifecycle(host, uuid, event, detail);
}

void World::losePower(Host& host) {
  host.powered = host.libvirtd_up = false;
  ++host.boots;
  if (host.coordinator) host.coordinator->die();
  const auto all = transfers;
  for (const auto& job : all) job->libvirtdGone(host);
  for (Guest& each : guests) {
    Domain* domain = host.domain(each.uuid);
    if (domain == nullptr || !domain->active()) continue;
    if (each.lives_on == host.number) each.ended = true;
    endDomain(host, each.uuid, LifecycleDetail::kOther);
  }
  for (VirtualFunction& vf : host.vfs) {
    vf.address = vf.own;
    vf.link_down = false;
    vf.with_vfio = vf.home.empty();
  }
}

void World::tell(Host& host, std::function<void(HypervisorListener&)> event) {
  if (!host.libvirtd_up) return;
  host.last_event = std::max(host.last_event, agenda.now()) + random.between(Duration(50), milliseconds(3));
  agenda.at(host.last_event, [&host, event = std::move(event)] {
    if (host.libvirtd_up && host.coordinator) event(host.coordinator->listener());
  });
}

void World::lifecycle(Host& host, const DomainUuid& uuid, Lifecycle event, LifecycleDetail detail) {
  tell(host, [uuid, event, detail](HypervisorListener& to) { to.onLifecycle(uuid, event, detail); });
}

void World::say(const std::string& line) {
  if (trace) trace(fmt::format("{:9.3f}  {}", static_cast<double>(agenda.now().count()) / 1e6, line));
}

}  // namespace rdmove::simulation
