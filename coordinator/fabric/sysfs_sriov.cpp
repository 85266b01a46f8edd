#include "coordinator/fabric/sysfs_sriov.hpp"

#include <fmt/format.h>
#include <linux/if_arp.h>

#include <algorithm>
#include <charconv>

namespace rdmove::fabric {
namespace {

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string folder(const std::string& pci) {
  return "bus/pci/devices/" + pci;
}

std::string first(const std::vector<std::string>& names) {
  return names.empty() ? std::string() : names.front();
}

/// VFIO lets a group have these, besides devices without a driver (drivers/vfio/vfio_main.c,
/// vfio_dev_viable; and its own drivers by their name).
bool leavesGroupViable(const std::string& driver) {
  return driver.empty() || driver == "pci-stub" || driver == "pcieport" || driver == "vfio-pci" ||
         driver.ends_with("-vfio-pci") || driver.ends_with("_vfio_pci");
}

std::vector<std::string> groupHolders(const SysfsFiles& files, const std::string& pci, unsigned group) {
  std::vector<std::string> holders;
  for (const std::string& member : files.list(fmt::format("kernel/iommu_groups/{}/devices", group))) {
    const std::string driver = files.linkName(folder(member) + "/driver");
    if (member != pci && !leavesGroupViable(driver)) holders.push_back(fmt::format("{} ({})", member, driver));
  }
  return holders;
}

SysfsVf readVf(const SysfsFiles& files, const std::string& pci, unsigned index) {
  SysfsVf vf;
  vf.pci = pci;
  vf.index = index;
  vf.driver = files.linkName(folder(pci) + "/driver");
  if (const auto group = number(files.linkName(folder(pci) + "/iommu_group"))) {
    vf.iommu_group = static_cast<int>(*group);
    vf.group_holders = groupHolders(files, pci, *group);
  }
  return vf;
}

LinkLayer layerOf(const SysfsFiles& files, const PfPlace& pf) {
  if (!pf.rdma.empty()) {
    const auto layer = files.read(fmt::format("class/infiniband/{}/ports/1/link_layer", pf.rdma));
    if (layer && *layer == "InfiniBand") return LinkLayer::kInfiniBand;
    if (layer && *layer == "Ethernet") return LinkLayer::kEthernet;
  }
  if (pf.netdev.empty()) return LinkLayer::kUnknown;
  const auto type = files.read(fmt::format("class/net/{}/type", pf.netdev));
  const auto value = type ? number(*type) : std::nullopt;
  return value == static_cast<unsigned>(ARPHRD_INFINIBAND) ? LinkLayer::kInfiniBand : LinkLayer::kEthernet;
}

SysfsPf readByAddress(const SysfsFiles& files, const std::string& pci, const std::string& netdev) {
  constexpr std::string_view kVirtfn = "virtfn";
  SysfsPf found;
  found.place.pci = pci;
  found.place.netdev = netdev.empty() ? first(files.list(folder(pci) + "/net")) : netdev;
  found.place.rdma = first(files.list(folder(pci) + "/infiniband"));
  found.place.driver = files.linkName(folder(pci) + "/driver");
  found.place.layer = layerOf(files, found.place);
  for (const std::string& name : files.list(folder(pci))) {
    if (!name.starts_with(kVirtfn)) continue;
    if (const auto index = number(std::string_view(name).substr(kVirtfn.size())))
      found.vfs.push_back(readVf(files, files.linkName(fmt::format("{}/{}", folder(pci), name)), *index));
  }
  std::sort(found.vfs.begin(), found.vfs.end(),
            [](const SysfsVf& a, const SysfsVf& b) { return a.index < b.index; });
  found.place.vfs = static_cast<unsigned>(found.vfs.size());
  return found;
}

/// The GUID in the second half of a GID, "fe80:0000:0000:0000:0002:c903:000a:1b2c".
std::optional<Guid> guidOfGid(const Result<std::string>& gid) {
  constexpr std::size_t kGidText = 39;
  if (!gid || gid->size() != kGidText) return std::nullopt;
  return Guid::read(std::string_view(*gid).substr(20));
}

VfSettings guidsOfRdma(const SysfsFiles& files, const std::string& rdma) {
  VfSettings out;
  if (rdma.empty()) return out;
  if (const auto node = files.read(fmt::format("class/infiniband/{}/node_guid", rdma)))
    out.node_guid = Guid::read(*node);
  const auto layer = files.read(fmt::format("class/infiniband/{}/ports/1/link_layer", rdma));
  if (layer && *layer == "InfiniBand")
    out.port_guid = guidOfGid(files.read(fmt::format("class/infiniband/{}/ports/1/gids/0", rdma)));
  return out;
}

}  // namespace

Result<SysfsPf> readPf(const SysfsFiles& files, const std::string& pf) {
  const bool by_address = pf.find(':') != std::string::npos;
  const std::string pci = by_address ? pf : files.linkName(fmt::format("class/net/{}/device", pf));
  if (pci.empty() || !files.exists(folder(pci))) {
    return failure(ErrorCode::kNotFound, fmt::format("list the VFs of {}", pf),
                   "there is no such PF on this host",
                   "Correct `pfs` of its pool in rdmoved.toml, or see why the adapter is missing (dmesg).");
  }
  return readByAddress(files, pci, by_address ? std::string() : pf);
}

std::vector<SysfsPf> readPfs(const SysfsFiles& files) {
  std::vector<SysfsPf> pfs;
  for (const std::string& pci : files.list("bus/pci/devices")) {
    if (files.exists(folder(pci) + "/virtfn0")) pfs.push_back(readByAddress(files, pci, ""));
  }
  return pfs;
}

VfSettings ownAddresses(const SysfsFiles& files, const PfPlace& pf) {
  VfSettings out = guidsOfRdma(files, pf.rdma);
  if (pf.layer != LinkLayer::kInfiniBand && !pf.netdev.empty()) {
    if (const auto mac = files.read(fmt::format("class/net/{}/address", pf.netdev)))
      out.mac = MacAddress::parse(*mac);
  }
  return out;
}

VfSettings guidsOfDevice(const SysfsFiles& files, const std::string& pci) {
  return guidsOfRdma(files, first(files.list(folder(pci) + "/infiniband")));
}

}  // namespace rdmove::fabric
