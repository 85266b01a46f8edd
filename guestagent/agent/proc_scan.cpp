#include "guestagent/agent/proc_scan.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {
namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// "/dev/infiniband/uverbs0", also as seen in a container or with " (deleted)" behind it.
std::string uverbs_in(const std::string& target) {
  const auto slash = target.rfind('/');
  const auto name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (!name.starts_with("uverbs")) return {};
  const auto end = name.find_first_not_of("0123456789", 6);
  return name.substr(0, end);
}

}  // namespace

template <class DeviceOf>
std::vector<protocol::Holdout> ProcScan::scan(DeviceOf device_of) {
  std::vector<protocol::Holdout> out;
  std::error_code error;
  for (fs::directory_iterator process(proc_, error), end; !error && process != end;
       process.increment(error)) {
    const auto text = process->path().filename().string();
    std::int32_t pid = 0;
    const auto [last, bad] = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (bad != std::errc{} || last != text.data() + text.size()) continue;

    std::set<std::string> held;
    std::error_code gone;  // processes end while we look
    for (fs::directory_iterator fd(process->path() / "fd", gone); !gone && fd != end; fd.increment(gone)) {
      std::error_code closed;
      const auto target = fs::read_symlink(fd->path(), closed).string();
      if (auto device = device_of(target)) held.insert(std::move(*device));
    }
    for (const auto& device : held) {
      if (out.size() < protocol::limits::holdouts) out.push_back({pid, name_of(process->path()), device});
    }
  }
  return out;
}

std::vector<protocol::Holdout> ProcScan::holding(const std::vector<std::string>& rdma_names) {
  const auto uverbs = sysfs_.uverbs();
  return scan([&](const std::string& target) -> std::optional<std::string> {
    const auto device = uverbs.find(uverbs_in(target));
    if (device == uverbs.end()) return std::nullopt;
    const bool wanted = rdma_names.empty() ||
                        std::find(rdma_names.begin(), rdma_names.end(), device->second) != rdma_names.end();
    return wanted ? std::optional(device->second) : std::nullopt;
  });
}

// Once a removal hangs, the uverbs node of its device is gone from sysfs: whoever holds a node that is no
// device's any more, or a channel, is who is waited for.
std::vector<protocol::Holdout> ProcScan::holding_a_channel() {
  const auto uverbs = sysfs_.uverbs();
  return scan([&](const std::string& target) -> std::optional<std::string> {
    const auto node = uverbs_in(target);
    const bool orphan = !node.empty() && !uverbs.contains(node);
    return orphan || target == "anon_inode:[infinibandevent]" ? std::optional(std::string{}) : std::nullopt;
  });
}

}  // namespace rdmove::agent
