#include "guestagent/agent/anchor.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace rdmove::agent {
namespace {

constexpr const char* base_name = "rdmove_anchor";
// An anchor whose deletion still waits for an application keeps its name; then the next is taken.
constexpr int max_anchors = 4;

}  // namespace

bool is_anchor(const std::string& rdma_name) {
  return rdma_name.starts_with(base_name);
}

void drop_anchor(RdmaLinks& links, const std::vector<std::string>& leaving) {
  for (const auto& device : links.list()) {
    if (std::find(leaving.begin(), leaving.end(), device.name) == leaving.end()) return;
  }
  for (int i = 0; i < max_anchors; ++i) {
    const auto name = i == 0 ? std::string(base_name) : fmt::format("{}{}", base_name, i);
    const auto added = links.add_soft_roce(name, "lo");
    if (added) return;
    spdlog::warn("rdma={} no anchor: {}", name, added.error().message);
  }
}

void weigh_anchor(RdmaLinks& links) {
  for (const auto& device : links.list()) {
    if (!is_anchor(device.name)) continue;
    links.remove(device.name, [name = device.name](const protocol::Result<void>& removed) {
      if (!removed) spdlog::warn("rdma={} the anchor stays: {}", name, removed.error().message);
    });
  }
}

std::string rdma_device_on(RdmaLinks& links, const std::string& netdev) {
  for (const auto& device : links.list()) {
    if (!netdev.empty() && device.netdev == netdev) return device.name;
  }
  return {};
}

}  // namespace rdmove::agent
