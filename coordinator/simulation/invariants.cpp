#include "coordinator/simulation/invariants.hpp"

#include <fmt/format.h>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/simulation/coordinator_process.hpp"

namespace rdmove::simulation {
namespace {

/// libvirt itself resumes a source that lost sight of its destination: so long the departure may take to
/// pause it again, while its daemon and libvirtd are up.
constexpr Duration kSecondCopy = seconds(1);

}  // namespace

void Invariants::fail(const std::string& rule, const std::string& what) {
  world_.broken({rule, what});
}

bool Invariants::runs(Host& host, const Guest& guest) {
  const Domain* domain = host.domain(guest.uuid);
  return domain != nullptr && domain->runs();
}

bool Invariants::whole(Host& host, const Guest& guest) {
  const Domain* domain = host.domain(guest.uuid);
  if (domain == nullptr || !domain->runs() || !domain->device || domain->device->leaving) return false;
  const VirtualFunction* vf = host.vf(domain->device->vf);
  return vf->address == guest.address && !vf->link_down;
}

void Invariants::always() {
  for (const Guest& guest : world_.guests) {
    oneHost(guest);
    oneIdentity(guest);
  }
}

void Invariants::oneHost(const Guest& guest) {
  const bool twice = runs(world_.hosts[0], guest) && runs(world_.hosts[1], guest);
  bool watched = true;
  for (const Host& host : world_.hosts) watched = watched && host.coordinator && host.libvirtd_up;
  if (!twice || !watched) {
    twice_since_.erase(guest.uuid);
    return;
  }
  const Duration since = twice_since_.try_emplace(guest.uuid, world_.agenda.now()).first->second;
  if (world_.agenda.now() - since > kSecondCopy)
    fail("a VM runs on one host", guest.name + " runs on both, and nobody pauses one");
}

void Invariants::oneIdentity(const Guest& guest) {
  int live = 0;
  for (const Host& host : world_.hosts) {
    for (const VirtualFunction& vf : host.vfs) live += vf.address == guest.address && !vf.link_down ? 1 : 0;
  }
  if (live > 1) fail("an identity is live on one VF", guest.name + "'s is live on two");
}

void Invariants::atEnd(Host& host, const MigrationId& id, Role role, const DomainUuid& uuid, Outcome outcome,
                       bool latest) {
  if (!isFinished(outcome)) return;
  const Guest& guest = *world_.guest(uuid);
  Host& other = world_.other(host);
  const std::string end = fmt::format("{} {} of {} ended {}", host.name.str(), toString(role), guest.name,
                                      std::string(toString(outcome)));
  if (const auto leases = host.coordinator->journal().leases()) {
    for (const LeaseRecord& lease : *leases) {
      if (lease.migration == id) fail("leases end", end + " and keeps " + lease.vf.str());
    }
  }
  if (guest.ended) return;
  const bool stays = outcome == Outcome::kRefused || outcome == Outcome::kRolledBack;
  if (role == Role::kDeparture && stays) {
    if (!whole(host, guest)) fail("the end is what it says", end + " and it is not whole here");
    // A copy that libvirt itself resumed over there is its own daemon's to pause: that is another rule.
    if (guest.lives_on != host.number) fail("the end is what it says", end + " and it runs at the partner");
    if (outcome == Outcome::kRefused && guest.prepared)
      fail("the end is what it says", end + " and its applications have let go");
  }
  // A departure that ends as its VM moves on has nothing more to say about where that is.
  if (outcome == Outcome::kCompleted && latest) {
    Host& destination = role == Role::kArrival ? host : other;
    Host& source = world_.other(destination);
    const Domain* left = source.domain(uuid);
    if (!whole(destination, guest)) fail("the end is what it says", end + " and it is not whole there");
    if (guest.prepared) fail("the end is what it says", end + " and its applications have let go");
    const bool gone = left == nullptr || !left->active();
    if (role == Role::kDeparture && !gone) fail("the end is what it says", end + " and a copy is here");
  }
  if (outcome == Outcome::kWithdrawn && runs(host, guest))
    fail("the end is what it says", end + " and it runs here");
}

void Invariants::atRest() {
  for (const Guest& guest : world_.guests) guestAtRest(guest);
  for (Host& host : world_.hosts) hostAtRest(host);
}

void Invariants::guestAtRest(const Guest& guest) {
  int running = 0;
  for (Host& host : world_.hosts) {
    const Domain* domain = host.domain(guest.uuid);
    if (domain == nullptr) continue;
    if (domain->active() && !domain->runs())
      fail("a VM runs on one host", guest.name + " is paused on " + host.name.str());
    if (!domain->active()) {
      if (!guest.ended && !moved_by_another_.contains(guest.uuid))
        fail("both definitions are right", guest.name + " is still defined on " + host.name.str());
      continue;
    }
    ++running;
    if (!whole(host, guest)) fail("a VM has its VF", guest.name + " is not whole on " + host.name.str());
    if (guest.persistent != domain->definition.has_value())
      fail("both definitions are right",
           guest.name + (guest.persistent ? " has none on " : " has one on ") + host.name.str());
    if (!domain->definition) continue;
    const auto claimed = claimedVfs(*domain->definition);
    if (!claimed || claimed->size() != 1 || claimed->front() != domain->device->vf.str())
      fail("both definitions are right",
           guest.name + "'s does not name the VF that it has on " + host.name.str());
  }
  if (running != (guest.ended ? 0 : 1))
    fail("a VM runs on one host", fmt::format("{} runs on {}", guest.name, running));
}

void Invariants::hostAtRest(Host& host) {
  for (const VirtualFunction& vf : host.vfs) {
    bool had = false;
    for (const Guest& guest : world_.guests)
      had = had || (guest.ended && guest.first_host == host.number && guest.first_vf == vf.name);
    for (const auto& [uuid, domain] : host.domains) {
      had = had || (domain.device && domain.device->vf == vf.name);
      // What is defined here is claimed, and keeps its VF for when it is started again.
      const auto claimed = domain.definition ? claimedVfs(*domain.definition) : std::vector<std::string>();
      had = had ||
            (world_.guest(uuid)->ended && claimed && !claimed->empty() && claimed->front() == vf.name.str());
    }
    if (!had && (vf.address != vf.own || vf.link_down))
      fail("a free VF is nobody's", vf.name.str() + " of " + host.name.str() + " has " + vf.address);
    if (!had && vf.with_vfio != vf.home.empty())
      fail("a free VF is nobody's", vf.name.str() + " of " + host.name.str() + " is not with its driver");
  }
  Journal& journal = host.coordinator->journal();
  if (const auto leases = journal.leases(); !leases || !leases->empty())
    fail("leases end", "one is left on " + host.name.str());
  if (const auto open = journal.unfinished(); !open || !open->empty())
    fail("everything ends", "the journal of " + host.name.str() + " has an unfinished migration");
}

}  // namespace rdmove::simulation
