// What the host of a VM asks before it moves: of libvirt, the metadata, the guest's agent and the partner.
// What a host says about itself: examiner_host.cpp.
#include "coordinator/preflight/examiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "coordinator/fabric/fabric.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/migration/partner.hpp"
#include "coordinator/preflight/look.hpp"
#include "coordinator/preflight/machine_checks.hpp"

namespace rdmove {
namespace {

/// libvirt's own addition for a VF (qemuDomainGetMemLockLimitBytes).
constexpr std::uint64_t kLockedBesidesKib = 1024 * 1024;

}  // namespace

Examiner::Examiner(boost::asio::io_context& loop, Hypervisor& hypervisor, Fabric& fabric, Partners& partners,
                   AgentDesk& agents, const Config& config)
    : loop_(loop),
      hypervisor_(hypervisor),
      fabric_(fabric),
      partners_(partners),
      agents_(agents),
      config_(config) {}

Examination Examiner::examine(const Plan& request) {
  Look look{config_, {}, request, {}, {}, false};
  lookAtDomain(look);
  askPartner(look);
  if (!anyError(look.result.findings)) look.result.plan = look.plan;
  return std::move(look.result);
}

std::vector<Finding> Examiner::examineDomain(const Plan& request) {
  Look look{config_, {}, request, {}, {}, false};
  lookAtDomain(look);
  return std::move(look.result.findings);
}

void Examiner::lookAtDomain(Look& look) {
  look.plan.source = config_.host;
  findDomain(look);
  if (look.domain_fits) readDeclaration(look);
  if (look.domain_fits && !anyError(look.result.findings)) askAgent(look);
}

void Examiner::findDomain(Look& look) {
  auto status = hypervisor_.find(look.plan.domain);
  if (!status) {
    if (status.error().code == ErrorCode::kNotFound) {
      return look.error("no-such-domain",
                        fmt::format("There is no domain {} on {}.", look.plan.domain, config_.host.str()),
                        "See virsh list --all for the names on this host.");
    }
    return look.fail("libvirt", status.error());
  }
  look.status = *status;
  look.plan.domain = status->name;
  look.plan.uuid = status->uuid;
  look.plan.persistent = status->persistent;
  if (status->state != DomainState::kRunning) {
    return look.error("not-running", fmt::format("{} is not running ({}).", status->name, status->state_text),
                      "Only a running domain is migrated with its RDMA; start or resume it first.");
  }
  if (status->migration_job) {
    return look.error("job-running", fmt::format("{} has a migration job already.", status->name),
                      "Wait for it, or end it with virsh domjobabort.");
  }
  look.domain_fits = true;
}

void Examiner::readDeclaration(Look& look) {
  const auto element = hypervisor_.metadata(look.status.uuid, XmlKind::kLive);
  if (!element) return look.fail("metadata", element.error());
  if (!*element) {
    return look.error(
        "no-metadata", fmt::format("{} has no rdma metadata.", look.status.name),
        fmt::format("Say which of its devices move: rdmove define {} --vf alias=ua-rdma0,pool=POOL.",
                    look.status.name));
  }
  const auto declaration = parseDeclaration(**element);
  if (!declaration) return look.fail("bad-metadata", declaration.error());
  auto xml = hypervisor_.xml(look.status.uuid, XmlKind::kLive);
  if (!xml) return look.fail("libvirt", xml.error());
  look.live_xml = std::move(*xml);
  look.owed = std::exchange(look.plan.vfs, {});
  for (const VfDeclaration& vf : declaration->vfs) findDevice(look, vf);
  checkMemory(look);
  examineIdentities(look);
}

/// A limit that is too low would fail the attach, after the point of no return.
void Examiner::checkMemory(Look& look) {
  const bool pins = std::any_of(look.plan.vfs.begin(), look.plan.vfs.end(), [&](const MovingVf& vf) {
    const auto pool = config_.pools.find(vf.declaration.pool);
    return pool != config_.pools.end() && pool->second.kind == PoolConfig::Kind::kSriov;
  });
  if (!pins) return;
  const auto memory = lockableMemory(look.live_xml);
  if (!memory) return look.fail("libvirt", memory.error());
  const std::uint64_t needed = memory->memory_kib + kLockedBesidesKib;
  if (!memory->hard_limit_kib || *memory->hard_limit_kib >= needed) return;
  look.error("memlock",
             fmt::format("{} may lock {} KiB of memory (hard_limit); with a VF it needs {} KiB.",
                         look.status.name, *memory->hard_limit_kib, needed),
             fmt::format("virsh memtune {} --hard-limit {} --live --config, or take hard_limit out.",
                         look.status.name, needed));
}

void Examiner::findDevice(Look& look, const VfDeclaration& vf) {
  if (!fabric_.hasPool(vf.pool)) {
    return look.error("no-pool",
                      fmt::format("Pool {} of device {} is not configured on {}.", vf.pool.str(),
                                  vf.alias.str(), config_.host.str()),
                      "Add it to /etc/rdmove/rdmoved.toml, or correct the metadata with rdmove define.");
  }
  const auto device = rdmove::findDevice(look.live_xml, vf.alias);
  if (!device && device.error().code != ErrorCode::kNotFound) return look.fail("bad-device", device.error());
  const auto owed = std::find_if(look.owed.begin(), look.owed.end(), [&](const MovingVf& each) {
    return each.declaration.alias == vf.alias && each.declaration.pool == vf.pool;
  });
  if (!device && owed != look.owed.end()) {
    look.plan.vfs.push_back(*owed);
    return;
  }
  if (!device) {
    return look.error(
        "no-device", fmt::format("{} has no device with alias {}.", look.status.name, vf.alias.str()),
        "Give the device a user alias (<alias name='ua-...'/>), or correct the metadata with rdmove define.");
  }
  if (vf.identity.mac && device->mac && *vf.identity.mac != *device->mac) {
    return look.error("wrong-mac",
                      fmt::format("Device {} has MAC {}, the metadata says {}.", vf.alias.str(),
                                  device->mac->str(), vf.identity.mac->str()),
                      "Correct the one that is wrong; rdmove define writes the metadata.");
  }
  if (device->teamed && vf.model != Model::kRoce) {
    return look.error("infiniband-teaming",
                      fmt::format("Device {} is the transient half of a teaming pair, and an InfiniBand VF.",
                                  vf.alias.str()),
                      "Take <teaming> out of it: libvirt pairs by MAC, which an InfiniBand VF does not have.");
  }
  const auto pool = config_.pools.find(vf.pool);
  const bool sriov = pool != config_.pools.end() && pool->second.kind == PoolConfig::Kind::kSriov;
  if (sriov && vf.model != Model::kRoce && device->kind == "interface") {
    return look.error("infiniband-interface",
                      fmt::format("Device {} is an <interface>, and an InfiniBand VF.", vf.alias.str()),
                      "Make it a plain <hostdev>: libvirt would set a MAC, which an InfiniBand VF has not.");
  }
  const auto portable = portableDevice(device->element);
  if (!portable) return look.fail("bad-device", portable.error());
  const auto where = fabric_.locate(vf.pool, device->element);
  if (!where) return look.fail("not-in-pool", where.error());
  MovingVf moving{vf, *portable};
  if (!moving.declaration.identity.mac) moving.declaration.identity.mac = device->mac;
  look.plan.vfs.push_back(std::move(moving));
  look.result.source_vfs[vf.alias] = *where;
}

Result<std::vector<Holdout>> Examiner::holdoutsIn(const DomainUuid& uuid) {
  const auto promise = std::make_shared<std::promise<Result<std::vector<Holdout>>>>();
  auto answer = promise->get_future();
  // The link is made and dropped on the loop; it lives until the answer is here, or the departure keeps it
  // on.
  const auto link = std::make_shared<std::shared_ptr<AgentLink>>();
  boost::asio::post(loop_, [this, promise, link, uuid] {
    *link = agents_.link(uuid);
    (*link)->holdouts(config_.timeouts.agent,
                      [promise](Result<std::vector<Holdout>> r) { promise->set_value(std::move(r)); });
  });
  const auto grace = config_.timeouts.agent + std::chrono::seconds(2);
  const bool answered = answer.wait_for(grace) == std::future_status::ready;
  auto result = answered ? answer.get()
                         : Result<std::vector<Holdout>>(
                               failure(ErrorCode::kTimeout, "ask the agent", "it does not answer"));
  boost::asio::post(loop_, [link] { link->reset(); });
  return result;
}

void Examiner::askAgent(Look& look) {
  const auto holdouts = holdoutsIn(look.status.uuid);
  if (!holdouts) {
    return look.error(
        "no-agent",
        fmt::format("The guest agent of {} does not answer: {}", look.status.name,
                    holdouts.error().sentence()),
        "Install and start rdmove-agent in the guest, and give the domain the channel org.rdmove.agent.0.");
  }
  for (const Holdout& holdout : *holdouts) {
    look.add(Severity::kWarning, "holdout",
             fmt::format("{} (pid {}) in the guest has {} open, and the agent cannot ask it to let go.",
                         holdout.name, holdout.pid, holdout.device),
             "If it does not when the device is to leave, the migration ends there and nothing has changed: link "
             "it with librdmove, start it by rdmove-shadow run, end it, or migrate with --force.");
  }
}

/// What cannot be read is not told: the partner then has nothing to compare.
SourceFacts Examiner::factsOf(const Look& look) const {
  SourceFacts facts;
  facts.clock = std::chrono::system_clock::now();
  facts.machine = machineOf(hypervisor_, look.live_xml);
  const auto vfs = fabric_.vfs();
  const auto pfs = fabric_.pfs();
  if (!vfs || !pfs) return facts;
  for (const auto& [alias, name] : look.result.source_vfs) {
    const auto vf =
        std::find_if(vfs->begin(), vfs->end(), [&](const VfInfo& one) { return one.name == name; });
    if (vf == vfs->end()) continue;
    const auto pf =
        std::find_if(pfs->begin(), pfs->end(), [&](const PfInfo& one) { return one.pci == vf->pf; });
    if (pf != pfs->end() && !vf->pf.empty()) facts.adapters.push_back(adapterOf(alias, *pf));
  }
  return facts;
}

void Examiner::askPartner(Look& look) {
  const HostName& name = look.plan.destination;
  if (name == config_.host) {
    return look.error("same-host", fmt::format("{} is this host.", name.str()),
                      "Name another host as the destination.");
  }
  const auto partner = partners_.find(name);
  if (!partner) return look.fail("no-partner", partner.error());
  if (const auto hello = (*partner)->hello(); !hello) {
    const bool old = hello.error().code == ErrorCode::kIncompatible;
    return look.fail(old ? "partner-version" : "partner-silent", hello.error());
  }
  if (look.plan.vfs.empty()) return;  // the reasons are named already
  const auto config = config_.partners.find(name);
  for (const MovingVf& vf : look.plan.vfs) {
    const auto& pools = config->second.pools;
    if (std::find(pools.begin(), pools.end(), vf.declaration.pool) == pools.end()) {
      look.error("pool-not-shared",
                 fmt::format("Partner {} has no pool {}.", name.str(), vf.declaration.pool.str()),
                 fmt::format("Add it to pools of [partners.{}] if it is the same fabric.", name.str()));
    }
  }
  auto findings = (*partner)->examine(look.plan, factsOf(look));
  if (!findings) return look.fail("partner-silent", findings.error());
  for (Finding& finding : *findings) look.result.findings.push_back(std::move(finding));
}

}  // namespace rdmove
