#include "coordinator/fabric/sysfs_sriov.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rdmove::fabric {
namespace {

namespace fs = std::filesystem;

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Last component of what a link points to; empty when there is no link.
std::string linkName(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? std::string() : target.filename().string();
}

SysfsVf readVf(const fs::path& link, unsigned index) {
  SysfsVf vf;
  vf.pci = linkName(link);
  vf.index = index;
  vf.driver = linkName(link / "driver");
  if (const auto group = number(linkName(link / "iommu_group"))) vf.iommu_group = static_cast<int>(*group);
  return vf;
}

}  // namespace

Result<SysfsPf> readPf(const fs::path& sysfs_root, const std::string& pf) {
  constexpr std::string_view kVirtfn = "virtfn";
  std::error_code error;
  const bool by_address = pf.find(':') != std::string::npos;
  const fs::path device =
      by_address ? sysfs_root / "bus/pci/devices" / pf : sysfs_root / "class/net" / pf / "device";
  if (!fs::is_directory(device, error)) {
    return failure(ErrorCode::kNotFound, fmt::format("list the VFs of {}", pf),
                   "there is no such PF on this host",
                   "Correct `pfs` of its pool in rdmoved.toml, or see why the adapter is missing (dmesg).");
  }
  SysfsPf found;
  for (const fs::directory_entry& entry : fs::directory_iterator(device / "net", error)) {
    const std::string name = entry.path().filename().string();
    if (found.netdev.empty() || name < found.netdev) found.netdev = name;
  }
  if (!by_address) found.netdev = pf;
  for (const fs::directory_entry& entry : fs::directory_iterator(device, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kVirtfn)) continue;
    if (const auto index = number(std::string_view(name).substr(kVirtfn.size()))) {
      found.vfs.push_back(readVf(entry.path(), *index));
    }
  }
  std::sort(found.vfs.begin(), found.vfs.end(),
            [](const SysfsVf& a, const SysfsVf& b) { return a.index < b.index; });
  return found;
}

}  // namespace rdmove::fabric
