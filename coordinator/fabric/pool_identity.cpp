// The identity of a pool's VF: which VF that is, whose part of it is ours, and the journal's record as text.
#include <fmt/format.h>

#include "coordinator/fabric/device_source.hpp"
#include "coordinator/fabric/identity/driver_binding.hpp"
#include "coordinator/fabric/pool_fabric.hpp"

namespace rdmove::fabric {
namespace {

Result<VfMemory> memoryOf(const IdentityRecord& record) {
  VfMemory memory;
  for (const auto& [text, into] :
       {std::pair{&record.before, &memory.before}, {&record.given, &memory.given}}) {
    if (text->empty()) continue;
    auto settings = settingsFromJson(*text);
    if (!settings) return tl::unexpected<Error>(settings.error());
    *into = std::move(*settings);
  }
  return memory;
}

Result<std::optional<VfMemory>> memoryOf(const std::optional<IdentityRecord>& record) {
  if (!record || record->empty()) return std::optional<VfMemory>();
  auto memory = memoryOf(*record);
  if (!memory) return tl::unexpected<Error>(memory.error());
  return std::optional<VfMemory>(std::move(*memory));
}

IdentityRecord recordOf(const VfMemory& memory) {
  return {toJson(memory.before), toJson(memory.given)};
}

Result<Owner> ownerOf(const MovingVf& moving) {
  const auto device = readDeviceSource(moving.device_xml);
  if (!device) return tl::unexpected<Error>(device.error());
  return device->kind == "interface" ? Owner::kAddressesLibvirts : Owner::kAllOurs;
}

}  // namespace

Result<bool> PoolFabric::onBridge(const VfName& vf, const std::string& attempted) const {
  if (vf.str().find('#') == std::string::npos) return false;
  if (bridgePoolOf(vf) != nullptr) return true;
  return failure(ErrorCode::kNotFound, attempted, "no pool of this host is on that bridge");
}

Result<VfPlace> PoolFabric::placeOf(const VfName& vf, const std::string& attempted) const {
  std::optional<Error> missing;  // another pool's PF that is not there does not hide this VF
  for (const auto& [name, pool] : pools_) {
    if (pool.kind != PoolConfig::Kind::kSriov) continue;
    auto place = findVf(pool, vf.str());
    if (!place) missing = place.error();
    if (place && place->has_value()) return std::move(**place);
  }
  if (missing) return tl::unexpected<Error>(std::move(*missing));
  return failure(ErrorCode::kNotFound, attempted, "no pool of this host has it",
                 "`rdmove vf list` names those that are.");
}

Result<IdentityRecord> PoolFabric::planIdentity(const VfName& vf, const MovingVf& moving,
                                                const std::optional<IdentityRecord>& kept) {
  const std::string attempted = fmt::format("plan the identity of {}", vf.str());
  const auto bridge = onBridge(vf, attempted);
  if (!bridge) return tl::unexpected<Error>(bridge.error());
  if (*bridge) return IdentityRecord{};
  const auto place = placeOf(vf, attempted);
  if (!place) return tl::unexpected<Error>(place.error());
  const auto memory = memoryOf(kept);
  if (!memory) return tl::unexpected<Error>(memory.error());
  const auto planned = identity_.plan(*place, moving.declaration.identity, *memory);
  if (!planned) return tl::unexpected<Error>(planned.error());
  return fabric::recordOf(*planned);
}

Result<void> PoolFabric::stageIdentity(const VfName& vf, const MovingVf& moving,
                                       const IdentityRecord& record) {
  const std::string attempted = fmt::format("stage the identity on {}", vf.str());
  const auto bridge = onBridge(vf, attempted);
  if (!bridge) return tl::unexpected<Error>(bridge.error());
  if (*bridge) return {};
  const auto owner = ownerOf(moving);
  if (!owner) return tl::unexpected<Error>(owner.error());
  // What libvirt found at the attach it would put back at the detach: there must be nothing of ours by then.
  if (*owner == Owner::kAddressesLibvirts) return {};
  const auto place = placeOf(vf, attempted);
  if (!place) return tl::unexpected<Error>(place.error());
  const auto memory = memoryOf(record);
  if (!memory) return tl::unexpected<Error>(memory.error());
  return identity_.stage(*place, moving.declaration.identity, *memory);
}

Result<void> PoolFabric::giveIdentity(const VfName& vf, const MovingVf& moving, const IdentityRecord& record,
                                      Attached attached) {
  const std::string attempted = fmt::format("give {} its identity", vf.str());
  const auto bridge = onBridge(vf, attempted);
  if (!bridge) return tl::unexpected<Error>(bridge.error());
  if (*bridge) return {};
  const auto owner = ownerOf(moving);
  if (!owner) return tl::unexpected<Error>(owner.error());
  const bool turn = (*owner == Owner::kAddressesLibvirts) == (attached == Attached::kYes);
  if (!turn) return {};
  const auto place = placeOf(vf, attempted);
  if (!place) return tl::unexpected<Error>(place.error());
  const auto memory = memoryOf(record);
  if (!memory) return tl::unexpected<Error>(memory.error());
  return identity_.give(*place, moving.declaration.identity, *memory, *owner);
}

Result<void> PoolFabric::takeIdentity(const VfName& vf, const Identity& identity,
                                      const std::optional<IdentityRecord>& kept) {
  const std::string attempted = fmt::format("take the identity off {}", vf.str());
  const auto bridge = onBridge(vf, attempted);
  if (!bridge) return tl::unexpected<Error>(bridge.error());
  // The MAC was QEMU's, behind a tap that is gone with the device. What the bridge still has in its
  // forwarding table ages out, or moves with the first frame from the other host.
  if (*bridge) return {};
  const auto place = placeOf(vf, attempted);
  if (!place) return tl::unexpected<Error>(place.error());
  const auto memory = memoryOf(kept);
  if (!memory) return tl::unexpected<Error>(memory.error());
  return identity_.take(*place, identity, *memory);
}

std::string PoolFabric::hostDriver(const IdentityRecord& record) {
  const auto before = settingsFromJson(record.before);
  return before ? before->driver.value_or("") : "";
}

Result<void> PoolFabric::returnToDriver(const VfName& vf, const IdentityRecord& record) {
  const std::string driver = hostDriver(record);
  return driver.empty() ? Result<void>() : bindDriver(*host_.files, vf.str(), driver);
}

Words PoolFabric::wordsOf(const std::string& record_text) {
  const auto settings = settingsFromJson(record_text);
  return settings ? fabric::wordsOf(*settings) : Words{};
}

IdentityRecord PoolFabric::recordOf(const VfName& vf, const Identity& identity) {
  if (vf.str().find('#') != std::string::npos) return {};
  return {toJson(VfSettings{}), toJson(settingsOf(identity))};
}

}  // namespace rdmove::fabric
