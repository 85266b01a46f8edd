#include "shadowdev/fakeverbs/fabric.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "shadowdev/fakeverbs/wire.hpp"

namespace rdmove::shadow::fake {

Fabric::~Fabric() = default;

ibv_gid Fabric::gid_of(std::uint64_t guid) {
  ibv_gid gid{};
  gid.raw[0] = 0xFE;
  gid.raw[1] = 0x80;
  for (unsigned i = 0; i < 8; ++i) gid.raw[8 + i] = static_cast<std::uint8_t>(guid >> (8U * (7U - i)));
  return gid;
}

Device& Fabric::add_device(const std::string& name, std::uint64_t guid, Limits limits) {
  const std::lock_guard hold(lock_);
  auto device = std::make_unique<Device>();
  device->fabric = this;
  device->gid = gid_of(guid);
  device->lid = next_lid_++;
  device->limits = limits;
  device->shown.node_type = IBV_NODE_CA;
  device->shown.transport_type = IBV_TRANSPORT_IB;
  std::strncpy(device->shown.name, name.c_str(), sizeof device->shown.name - 1);
  return *(devices_[name] = std::move(device));
}

bool Fabric::remove_device(const std::string& name) {
  const std::lock_guard hold(lock_);
  const auto found = devices_.find(name);
  if (found == devices_.end() || !found->second->contexts.empty()) return false;
  devices_.erase(found);
  return true;
}

void Fabric::surprise_remove(const std::string& name, Loss loss) {
  const std::lock_guard hold(lock_);
  const auto found = devices_.find(name);
  if (found == devices_.end()) return;
  Device& device = *found->second;
  Wire wire{*this};
  for (Qp* qp : order_) {
    if (&device_of(qp->context) != &device) continue;
    if (loss == Loss::Nothing)
      while (!qp->late.empty()) wire.step(*qp, false);
    qp->late.clear();
    qp->sends.clear();
    qp->receives.clear();
  }
  device.dead = true;
  device.present = false;
  for (Context* context : device.contexts)
    wire.raise_on(&context->context, ibv_async_event{{}, IBV_EVENT_DEVICE_FATAL});
  departed_.push_back(std::move(found->second));
  devices_.erase(found);
}

Device* Fabric::find(std::string_view name) {
  const auto found = devices_.find(std::string(name));
  return found == devices_.end() ? nullptr : found->second.get();
}

Device* Fabric::at(const ibv_gid& gid) {
  for (auto& [name, device] : devices_)
    if (std::memcmp(device->gid.raw, gid.raw, sizeof gid.raw) == 0) return device.get();
  return nullptr;
}

std::uint32_t Fabric::free_number(Device& device) {
  // Few numbers, so that a QP that is made again often gets what another one had.
  for (std::uint32_t range = 2 * static_cast<std::uint32_t>(device.qps.size()) + 8;; range *= 2) {
    const std::uint32_t number = 17 + random_() % range;
    if (!device.qps.contains(number)) return number;
  }
}

std::uint32_t Fabric::free_key(Device& device) {
  for (std::uint32_t range = 2 * static_cast<std::uint32_t>(device.mrs.size()) + 8;; range *= 2) {
    const std::uint32_t key = (1 + random_() % range) << 8U;
    if (!device.mrs.contains(key)) return key;
  }
}

bool Fabric::step() {
  const std::lock_guard hold(lock_);
  if (order_.empty()) return false;
  Wire wire{*this};
  const std::size_t first = random_() % order_.size();
  const bool acknowledge_first = random_() % 2 == 0;
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (wire.step(*order_[(first + i) % order_.size()], acknowledge_first)) return true;
  return false;
}

void Fabric::run(unsigned most_steps) {
  while (most_steps-- > 0 && step()) {
  }
}

}  // namespace rdmove::shadow::fake
