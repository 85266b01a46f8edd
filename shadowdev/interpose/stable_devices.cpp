#include "shadowdev/interpose/stable_devices.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "shadowdev/interpose/this_process.hpp"

namespace rdmove::shadow {
namespace {

std::set<std::uint64_t> guids_in_use() {
  std::set<std::uint64_t> guids;
  Engine& engine = ThisProcess::get().verbs().engine();
  const std::lock_guard hold(engine.control);
  for (const VirtualContext* context : engine.contexts) guids.insert(context->guid);
  return guids;
}

}  // namespace

StableDevices::One& StableDevices::same_as(const ibv_device& real, std::uint64_t guid) {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const One& one) { return one.guid == guid && !one.present; });
  One& one = found != all_.end() ? *found : all_.emplace_back();
  static_cast<ibv_device&>(one) = real;
  one.guid = guid;
  one.present = true;
  return one;
}

ibv_device** StableDevices::list(int* count) {
  const auto in_use = guids_in_use();
  int found = 0;
  ibv_device** real = ThisProcess::real().ibv_get_device_list(&found);
  if (real == nullptr && in_use.empty()) return nullptr;
  const std::lock_guard hold(lock_);
  for (One& one : all_) one.present = false;
  for (int i = 0; i < found; ++i) same_as(*real[i], ThisProcess::real().ibv_get_device_guid(real[i]));
  if (real != nullptr) ThisProcess::real().ibv_free_device_list(real);
  std::vector<ibv_device*> there;
  for (One& one : all_)
    if (one.present || in_use.contains(one.guid)) there.push_back(&one);
  auto** made = new ibv_device*[there.size() + 1];
  *std::copy(there.begin(), there.end(), made) = nullptr;
  lists_.insert(made);
  if (count != nullptr) *count = static_cast<int>(there.size());
  return made;
}

bool StableDevices::free(ibv_device** list) {
  const std::lock_guard hold(lock_);
  if (lists_.erase(list) == 0) return false;
  delete[] list;
  return true;
}

const std::uint64_t* StableDevices::guid_of(const ibv_device* device) {
  const std::lock_guard hold(lock_);
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const One& one) { return &one == device; });
  return found == all_.end() ? nullptr : &found->guid;
}

}  // namespace rdmove::shadow
