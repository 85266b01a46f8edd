// What a host says about itself: to a partner whose VM is to come, and to its own doctor.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/free_vfs.hpp"
#include "coordinator/migration/partner.hpp"
#include "coordinator/preflight/hook_check.hpp"
#include "coordinator/preflight/identity_claims.hpp"
#include "coordinator/preflight/look.hpp"
#include "coordinator/preflight/machine_checks.hpp"
#include "coordinator/preflight/occupancy.hpp"
#include "coordinator/preflight/pool_checks.hpp"

namespace rdmove {

/// What a host has, as far as VFs go.
struct Examiner::Room {
  std::vector<VfInfo> vfs;
  std::vector<PfInfo> pfs;
  std::map<VfName, Occupant> occupied;
  std::set<VfName> leased;
};

std::vector<Finding> Examiner::examineArrival(const Plan& plan, const HostName& source,
                                              const std::vector<VfName>& leased_vfs,
                                              const SourceFacts& facts) {
  Look look{config_, {}, plan, {}, {}, false};
  look.facts = facts;
  if (facts.clock) {
    for (Finding& finding : compareClocks(*facts.clock, std::chrono::system_clock::now(), config_.host.str()))
      look.result.findings.push_back(std::move(finding));
  }
  const auto partner = config_.partners.find(source);
  if (partner == config_.partners.end()) {
    look.error("unknown-source",
               fmt::format("{} does not know the host {}.", config_.host.str(), source.str()),
               fmt::format("Add [partners.{}] to rdmoved.toml on {}.", source.str(), config_.host.str()));
    return std::move(look.result.findings);
  }
  if (auto here = hypervisor_.find(plan.uuid.str()); here && here->state != DomainState::kShutOff) {
    look.error(
        "domain-there",
        fmt::format("{} exists on {} already ({}).", plan.domain, config_.host.str(), here->state_text),
        "Two copies of one domain must not be; remove the one that should not be there.");
  } else if (!here && here.error().code != ErrorCode::kNotFound) {
    look.fail("libvirt", here.error());
  }
  if (const auto namesake = hypervisor_.find(plan.domain); namesake && namesake->uuid != plan.uuid) {
    look.error("name-taken",
               fmt::format("{} has another domain named {} ({}).", config_.host.str(), plan.domain,
                           namesake->uuid.str()),
               "Undefine or rename it there; libvirt takes a name once.");
  }
  for (Finding& finding : checkMachine(hypervisor_, facts.machine, config_.host.str()))
    look.result.findings.push_back(std::move(finding));
  examineRoom(look, partner->second, leased_vfs);
  examineIdentities(look);
  return std::move(look.result.findings);
}

void Examiner::examineRoom(Look& look, const PartnerConfig& partner, const std::vector<VfName>& leased_vfs) {
  const auto all = fabric_.vfs();
  const auto pfs = fabric_.pfs();
  if (!all || !pfs) return look.fail("fabric", all ? pfs.error() : all.error());
  const auto occupied = occupants(hypervisor_, fabric_);
  if (!occupied) return look.fail("libvirt", occupied.error());
  const Room room{*all, *pfs, *occupied, {leased_vfs.begin(), leased_vfs.end()}};
  std::map<PoolName, std::vector<MovingVf>> wanted;
  for (const MovingVf& vf : look.plan.vfs) wanted[vf.declaration.pool].push_back(vf);
  for (const auto& [pool, vfs] : wanted) {
    const bool shared = std::find(partner.pools.begin(), partner.pools.end(), pool) != partner.pools.end();
    if (fabric_.hasPool(pool) && shared) {
      examinePool(look, room, pool, vfs);
      continue;
    }
    look.error(
        "no-pool-there",
        fmt::format("{} has no pool {} for VMs of {}.", config_.host.str(), pool.str(), partner.name.str()),
        fmt::format(
            "Configure it on {} ([pools.{}], and pools of [partners.{}]), if it reaches the same fabric.",
            config_.host.str(), pool.str(), partner.name.str()));
  }
}

void Examiner::examinePool(Look& look, const Room& room, const PoolName& pool,
                           const std::vector<MovingVf>& wanted) {
  std::set<VfName> taken = names(room.occupied);
  taken.insert(room.leased.begin(), room.leased.end());
  std::vector<VfInfo> free = freeVfs(room.vfs, pool, taken);
  const bool enough = free.size() >= wanted.size();
  if (enough) free.resize(wanted.size());
  // What is wrong with a PF whose VFs are not needed refuses nothing.
  for (PoolTrouble& trouble : troublesOf(room, pool)) {
    const bool concerns = !enough || std::any_of(free.begin(), free.end(),
                                                 [&](const VfInfo& vf) { return vf.parent == trouble.pf; });
    if (!concerns) trouble.finding.severity = Severity::kWarning;
    look.result.findings.push_back(std::move(trouble.finding));
  }
  if (!enough) {
    return look.error(
        "no-free-vf",
        fmt::format("Pool {} on {} has {}; {} needed.", pool.str(), config_.host.str(),
                    toString(countPool(room.vfs, pool, room.occupied, room.leased)), wanted.size()),
        "Free one there (rdmove vf list), or choose another destination.");
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const VfDeclaration& vf = wanted[i].declaration;
    if (!fits(vf.model, free[i].link_layer)) {
      look.error("other-link-layer",
                 fmt::format("Device {} is declared {}, and pool {} on {} is {}.", vf.alias.str(),
                             toString(vf.model), pool.str(), config_.host.str(), free[i].link_layer),
                 "Correct the model with rdmove define, or the port's mode (mlxconfig LINK_TYPE).");
      continue;
    }
    if (const auto model = modelOf(free[i]); model && *model != vf.model) {
      look.error("other-model",
                 fmt::format("Device {} is declared {}, and {} makes {} VFs.", vf.alias.str(),
                             toString(vf.model), free[i].pf_driver, toString(*model)),
                 "The model is the adapter's (docs/models.md): correct it with rdmove define.");
      continue;
    }
    for (const Adapter& adapter : look.facts.adapters) {
      const auto pf = std::find_if(room.pfs.begin(), room.pfs.end(), [&](const PfInfo& one) {
        return !one.pci.empty() && one.pci == free[i].pf;
      });
      if (adapter.alias != vf.alias || pf == room.pfs.end()) continue;
      for (Finding& finding : compareAdapters(adapter, *pf, config_.host.str()))
        look.result.findings.push_back(std::move(finding));
    }
    const auto planned = fabric_.planIdentity(free[i].name, wanted[i], std::nullopt);
    if (!planned) look.fail("identity", planned.error());
  }
}

void Examiner::examineIdentities(Look& look) {
  const auto claims = identityClaims(hypervisor_);
  if (!claims) return look.fail("libvirt", claims.error());
  for (const MovingVf& vf : look.plan.vfs) {
    const auto twice = claimedTwice(vf.declaration.identity, look.plan.uuid, *claims);
    if (!twice) continue;
    look.error("identity-twice",
               fmt::format("The identity of device {}: {} on {}.", vf.declaration.alias.str(), *twice,
                           config_.host.str()),
               "An address may be one VM's only: correct one of the two with rdmove define.");
  }
}

std::vector<PoolTrouble> Examiner::troublesOf(const Room& room, const PoolName& pool) const {
  const auto configured = config_.pools.find(pool);
  if (configured == config_.pools.end()) return {};
  return poolTroubles(configured->second, room.pfs, room.vfs, config_.host.str());
}

void Examiner::examinePools(Look& look) {
  const auto all = fabric_.vfs();
  const auto pfs = fabric_.pfs();
  if (!all || !pfs) return look.fail("fabric", all ? pfs.error() : all.error());
  const auto occupied = occupants(hypervisor_, fabric_);
  if (!occupied) look.fail("libvirt", occupied.error());
  const Room room{*all, *pfs, occupied ? *occupied : std::map<VfName, Occupant>(), {}};
  for (const auto& [name, pool] : config_.pools) {
    auto troubles = troublesOf(room, name);
    const bool empty =
        std::none_of(all->begin(), all->end(), [&](const VfInfo& vf) { return vf.pool == name; });
    if (!empty && occupied) {
      look.add(Severity::kOk, "pool",
               fmt::format("Pool {} has {}.", name.str(),
                           toString(countPool(room.vfs, name, room.occupied, room.leased))));
    } else if (empty && troubles.empty()) {
      look.error("pool-empty", fmt::format("Pool {} has no VF.", name.str()),
                 pool.kind == PoolConfig::Kind::kBridge ? "Create the bridge " + pool.bridge + "."
                                                        : "Set sriov_numvfs of its PFs.");
    }
    for (PoolTrouble& trouble : troubles) look.result.findings.push_back(std::move(trouble.finding));
  }
}

std::vector<Finding> Examiner::examineHost() {
  Look look{config_, {}, {}, {}, {}, false};
  if (const auto version = hypervisor_.version(); version) {
    look.add(Severity::kOk, "libvirt", fmt::format("libvirt answers: {}.", *version));
  } else {
    look.fail("libvirt", version.error());
  }
  examinePools(look);
  for (const auto& [name, partner] : config_.partners) {
    const auto found = partners_.find(name);
    const auto hello = found ? (*found)->hello() : Result<void>(tl::unexpected(found.error()));
    if (hello) {
      look.add(Severity::kOk, "partner", fmt::format("Partner {} answers.", name.str()));
    } else {
      look.fail("partner-silent", hello.error());
    }
  }
  const auto beside = std::filesystem::path(config_.hook_socket).parent_path();
  look.result.findings.push_back(
      checkHook({HookFiles().program, beside / "hook-called"}, config_.host.str()));
  if (config_.insecure) {
    look.add(Severity::kWarning, "insecure", "The partner API has no TLS.",
             "Set insecure = false and give it certificates.");
  }
  return std::move(look.result.findings);
}

}  // namespace rdmove
