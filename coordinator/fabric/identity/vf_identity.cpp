#include "coordinator/fabric/identity/vf_identity.hpp"

#include <fmt/format.h>

#include "coordinator/fabric/identity/driver_binding.hpp"
#include "coordinator/fabric/identity/identity_check.hpp"
#include "coordinator/fabric/sysfs_sriov.hpp"

namespace rdmove::fabric {
namespace {

bool isGuid(Field field) {
  return field == Field::kNodeGuid || field == Field::kPortGuid;
}
bool isAddress(Field field) {
  return field == Field::kMac || isGuid(field);
}

VfSettings linkDown() {
  VfSettings down;
  down.link = LinkPolicy::kDisable;
  return down;
}

/// a's fields, and b's where a has none.
VfSettings merged(VfSettings a, const VfSettings& b) {
  for (const Field field : kFields) {
    if (!has(a, field)) copy(field, b, a);
  }
  return a;
}

std::vector<PfPlace> hostPfs(const SysfsFiles& files) {
  std::vector<PfPlace> places;
  for (const SysfsPf& pf : readPfs(files)) places.push_back(pf.place);
  return places;
}

}  // namespace

struct VfIdentity::Look {
  VfPlace vf;
  VfSettings now;
  VfSettings was;       ///< `now`, and for a GUID that is not told what it most likely is
  bool staged = false;  ///< it can change its GUIDs unheard, with its link down
};

Result<VfIdentity::Look> VfIdentity::look(const VfPlace& vf, const VfSettings& fallback) {
  auto now = port_.read(vf);
  if (!now) return tl::unexpected<Error>(now.error());
  Look at{vf, *now, *now, false};
  for (const Field field : kFields) {
    if (isGuid(field) && has(*now, field) && !port_.isTold(vf, field, *now) && has(fallback, field))
      copy(field, fallback, at.was);
  }
  at.staged = vf.pf.layer == LinkLayer::kInfiniBand && has(*now, Field::kLink) &&
              port_.settable(vf).contains(Field::kLink);
  return at;
}

Result<VfMemory> VfIdentity::plan(const VfPlace& vf, const Identity& identity,
                                  const std::optional<VfMemory>& kept) {
  if (auto values = checkValues(identity); !values) return tl::unexpected<Error>(values.error());
  const auto at = look(vf, {});
  if (!at) return tl::unexpected<Error>(at.error());
  if (auto fits = checkFits(identity, vf, port_.settable(vf), at->now); !fits)
    return tl::unexpected<Error>(fits.error());
  auto given = wanted(*at, identity, kept ? kept->before : VfSettings());
  if (!given) return tl::unexpected<Error>(given.error());
  if (auto unique = checkUnique(identity, vf, hostPfs(files_), port_, files_); !unique)
    return tl::unexpected<Error>(unique.error());
  return VfMemory{beforeOf(*at, *given, kept), *given};
}

/// Where the VF still has what it was given, the record knows what was there before that. A GUID that the
/// driver does not tell may be in the record, or with the VF's own device on this host.
VfSettings VfIdentity::beforeOf(const Look& at, const VfSettings& given,
                                const std::optional<VfMemory>& kept) {
  VfSettings before;
  const VfSettings own = guidsOfDevice(files_, at.vf.pci);
  if (const std::string driver = driverOf(files_, at.vf.pci); isHostDriver(driver))
    before.driver = driver;
  else if (kept)
    before.driver = kept->before.driver;  // it was taken from that one for an earlier VM
  for (const Field field : kFields) {
    if (!has(given, field)) continue;
    const bool told = !isGuid(field) || port_.isTold(at.vf, field, at.now);
    const bool ours = kept && has(kept->given, field) && same(field, at.now, kept->given);
    if (ours || (!told && kept && has(kept->before, field)))
      copy(field, kept->before, before);
    else
      copy(field, told ? at.now : own, before);
  }
  return before;
}

Result<VfSettings> VfIdentity::wanted(const Look& at, const Identity& identity, const VfSettings& before) {
  VfSettings out = settingsOf(identity);
  if (!identity.pkeys.empty()) {
    const auto table = port_.portPartitions(at.vf);
    if (!table) return tl::unexpected<Error>(table.error());
    auto slots = slotsFor(identity.pkeys, *table, at.now.partitions ? at.now.partitions->size() : 0);
    if (!slots) return tl::unexpected<Error>(slots.error());
    out.partitions = std::move(*slots);
  }
  const bool lowered = at.staged && (identity.node_guid || identity.port_guid);
  if (!lowered || out.link) return out;
  // It may be down because of us, or because nobody had it: a VM's link is not.
  out.link = before.link.value_or(*at.now.link);
  if (out.link == LinkPolicy::kDisable) out.link = LinkPolicy::kAuto;
  return out;
}

Result<void> VfIdentity::check(const VfPlace& vf, Field field, const VfSettings& values) {
  const auto now = port_.read(vf);
  if (!now) return tl::unexpected<Error>(now.error());
  if (same(field, *now, values)) return {};
  return failure(ErrorCode::kConflict, fmt::format("set {}", show(field, values)),
                 fmt::format("the driver tells {}", show(field, *now)),
                 fmt::format("See `{}`, and who else programs this VF.", port_.whereToLook(vf)));
}

Step VfIdentity::change(const VfPlace& vf, Field field, const VfSettings& to, const VfSettings& back) {
  const auto undo = [this, vf, field, back]() -> Result<void> {
    if (check(vf, field, back)) return {};
    if (auto written = port_.write(vf, field, back); !written) return written;
    return check(vf, field, back);
  };
  return {fmt::format("set {}", show(field, to)),
          [this, vf, field, to] { return port_.write(vf, field, to); },
          [this, vf, field, to] { return check(vf, field, to); }, undo};
}

/// mlx5 reads GUIDs when it takes a device: one that a host driver has is taken from it meanwhile.
void VfIdentity::rebindAround(const VfPlace& vf, std::vector<Step>& steps) {
  const std::string driver = driverOf(files_, vf.pci);
  if (!isHostDriver(driver)) return;
  const auto unbind = [this, vf, driver] { return unbindDriver(files_, vf.pci, driver); };
  const auto bind = [this, vf, driver] { return bindDriver(files_, vf.pci, driver); };
  steps.insert(steps.begin(), Step{"take it from " + driver, unbind, nullptr, bind});
  steps.push_back(Step{"give it back to " + driver, bind, nullptr, unbind});
}

/// From what is to `target`: GUIDs change with the link down, where that is possible, and the link comes
/// last.
std::vector<Step> VfIdentity::stepsTo(const Look& at, const VfSettings& target) {
  const VfSettings down = linkDown();
  std::vector<Step> steps;
  bool guid_changes = false;
  for (const Field field : {Field::kNodeGuid, Field::kPortGuid})
    guid_changes = guid_changes || (has(target, field) && !same(field, at.was, target));
  const bool lower = at.staged && guid_changes && !same(Field::kLink, at.now, down);
  if (lower) steps.push_back(change(at.vf, Field::kLink, down, at.was));
  for (const Field field : kFields) {
    if (field == Field::kLink || !has(target, field) || same(field, at.was, target)) continue;
    steps.push_back(change(at.vf, field, target, at.was));
  }
  const VfSettings& before_link = lower ? down : at.was;
  const VfSettings& link = has(target, Field::kLink) ? target : at.was;
  if (has(link, Field::kLink) && !same(Field::kLink, before_link, link))
    steps.push_back(change(at.vf, Field::kLink, link, before_link));
  if (guid_changes) rebindAround(at.vf, steps);
  return steps;
}

Result<void> VfIdentity::stage(const VfPlace& vf, const Identity& identity, const VfMemory& memory) {
  const auto at = look(vf, memory.before);
  if (!at) return tl::unexpected<Error>(at.error());
  if (!at->staged || (!identity.node_guid && !identity.port_guid)) return {};
  VfSettings target = linkDown();
  copy(Field::kNodeGuid, memory.given, target);
  copy(Field::kPortGuid, memory.given, target);
  return run(fmt::format("stage the identity on {}", vf.pci), stepsTo(*at, target));
}

Result<void> VfIdentity::give(const VfPlace& vf, const Identity& identity, const VfMemory& memory,
                              Owner owner) {
  const auto at = look(vf, memory.before);
  if (!at) return tl::unexpected<Error>(at.error());
  auto target = wanted(*at, identity, memory.before);
  if (!target) return tl::unexpected<Error>(target.error());
  if (owner == Owner::kAddressesLibvirts) {
    // libvirt gives a VLAN its number alone.
    const bool vlan_is_theirs = !identity.vlan_priority && !identity.vlan_protocol;
    for (const Field field : {Field::kMac, Field::kVlan}) {
      const bool looked_at = has(*target, field) && has(at->now, field);
      if (!looked_at || (field == Field::kVlan && !vlan_is_theirs)) continue;
      if (auto there = check(vf, field, *target); !there) return there;
    }
  }
  return run(fmt::format("give {} its identity", vf.pci), stepsTo(*at, *target));
}

/// With its address a VF was given the rest too; another address is another VM's, or what libvirt put back. A
/// VLAN is many VFs' VLAN: it says whose a VF is only where there is no address to say it.
VfSettings VfIdentity::putBack(const Look& at, const VfSettings& given,
                               const std::optional<VfMemory>& memory) {
  const VfSettings nobody = port_.nobody(at.vf, at.now);
  bool has_address = false;
  bool carries = false;
  for (const Field field : {Field::kMac, Field::kNodeGuid, Field::kPortGuid}) {
    has_address = has_address || has(given, field);
    carries = carries || (has(given, field) && same(field, at.was, given));
  }
  carries = carries || !has_address;
  VfSettings back;
  for (const Field field : kFields) {
    if (!has(given, field) || !has(at.now, field) || !same(field, at.was, given)) continue;
    if (!carries && (isAddress(field) || field == Field::kVlan)) continue;
    // A record that has the address itself as what was before is of no use.
    const bool useless = isAddress(field) && memory && same(field, memory->before, given);
    const bool remembered = memory && has(memory->before, field) && !useless;
    copy(field, remembered ? memory->before : nobody, back);
  }
  return back;
}

Result<void> VfIdentity::take(const VfPlace& vf, const Identity& identity,
                              const std::optional<VfMemory>& memory) {
  const VfSettings given = merged(memory ? memory->given : VfSettings(), settingsOf(identity));
  const auto at = look(vf, given);
  if (!at) return tl::unexpected<Error>(at.error());
  VfSettings target = putBack(*at, given, memory);
  // A link that was lowered for this comes back as it was found; when that is not known, it stays down.
  const bool guids_leave = has(target, Field::kNodeGuid) || has(target, Field::kPortGuid);
  if (at->staged && guids_leave) {
    target.link = LinkPolicy::kDisable;
    if (memory && memory->before.link) target.link = memory->before.link;
  }
  return run(fmt::format("take the identity off {}", vf.pci), stepsTo(*at, target));
}

}  // namespace rdmove::fabric
