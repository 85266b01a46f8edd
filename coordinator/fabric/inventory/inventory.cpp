#include "coordinator/fabric/inventory/inventory.hpp"

#include <fmt/format.h>

#include <net/if.h>

#include <charconv>
#include <cstdlib>

namespace rdmove::fabric {
namespace {

std::string folder(const std::string& pci) {
  return "bus/pci/devices/" + pci;
}

bool switchedOff(const SysfsFiles& files, const std::string& netdev) {
  const auto text = netdev.empty() ? Result<std::string>() : files.read("class/net/" + netdev + "/flags");
  return text && text->starts_with("0x") && (std::strtoul(text->c_str(), nullptr, 16) & IFF_UP) == 0;
}

std::string first(const std::vector<std::string>& names) {
  return names.empty() ? std::string() : names.front();
}

std::optional<int> numberIn(const SysfsFiles& files, const std::string& path) {
  const auto text = files.read(path);
  int value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() ? std::optional<int>(value)
                                                                    : std::nullopt;
}

/// -1 is the kernel's word for a machine with one node, or a firmware that does not say.
std::optional<int> numaNode(const SysfsFiles& files, const std::string& pci) {
  const auto node = numberIn(files, folder(pci) + "/numa_node");
  return node && *node >= 0 ? node : std::nullopt;
}

}  // namespace

HostAccess makeHostAccess(const std::filesystem::path& sysfs_root) {
  HostAccess host;
  host.files = makeSysfsFiles(sysfs_root);
  host.port = makeVfPorts(*host.files, makeNetlinkVfPort());
  host.users = makeHostUsers(*host.files);
  host.rdma = makeRdmaDevices();
  host.dcb = makeDcbPorts();
  return host;
}

/// rdma netlink knows devices of all drivers that tell; the file is there for the rest.
std::string Inventory::firmwareOf(const std::string& rdma) {
  if (rdma.empty()) return {};
  if (const auto devices = host_.rdma->list()) {
    for (const RdmaDevice& device : *devices) {
      if (device.name == rdma && !device.firmware.empty()) return device.firmware;
    }
  }
  return host_.files->read(fmt::format("class/infiniband/{}/fw_ver", rdma)).value_or("");
}

PfInfo Inventory::pf(const SysfsPf& pf, const PoolName& pool) {
  PfInfo info;
  info.pci = pf.place.pci;
  info.pool = pool;
  info.netdev = pf.place.netdev;
  info.rdma = pf.place.rdma;
  info.driver = pf.place.driver;
  info.firmware = firmwareOf(pf.place.rdma);
  info.link_layer = toString(pf.place.layer);
  info.numa_node = numaNode(*host_.files, pf.place.pci);
  info.vfs = pf.place.vfs;
  if (const auto most = numberIn(*host_.files, folder(pf.place.pci) + "/sriov_totalvfs"); most && *most > 0)
    info.most_vfs = static_cast<unsigned>(*most);
  if (info.netdev.empty()) return info;
  const std::string netdev = "class/net/" + info.netdev;
  info.switched_off = switchedOff(*host_.files, info.netdev);
  info.link = host_.files->read(netdev + "/operstate").value_or("");
  info.mtu = numberIn(*host_.files, netdev + "/mtu");
  if (const auto speed = numberIn(*host_.files, netdev + "/speed"); speed && *speed > 0)
    info.speed_mbit = speed;
  if (auto dcb = host_.dcb->of(info.netdev)) {
    info.pfc = std::move(dcb->pfc);
    info.ets = std::move(dcb->ets);
  }
  return info;
}

std::vector<VfInfo> Inventory::vfs(const SysfsPf& pf, const PoolName& pool, const std::string& named) {
  const auto settings = host_.port->readAll(pf.place);
  const std::string firmware = firmwareOf(pf.place.rdma);  // VFs run the PF's
  const bool switched_off = switchedOff(*host_.files, pf.place.netdev);
  std::vector<VfInfo> all;
  std::vector<Handles> handles;
  for (const SysfsVf& vf : pf.vfs) {
    VfInfo info{VfName(vf.pci), pool, "sriov", named, {}, vf.driver, vf.iommu_group};
    // For display: a PF that does not tell (no netdev, InfiniBand) leaves it open.
    if (settings && vf.index < settings->size()) info.mac = (*settings)[vf.index].mac;
    info.pf = pf.place.pci;
    info.pf_driver = pf.place.driver;
    info.pf_switched_off = switched_off;
    info.group_holders = vf.group_holders;
    info.index = vf.index;
    info.rdma = first(host_.files->list(folder(vf.pci) + "/infiniband"));
    info.netdev = first(host_.files->list(folder(vf.pci) + "/net"));
    info.link_layer = toString(pf.place.layer);
    info.firmware = firmware;
    info.numa_node = numaNode(*host_.files, vf.pci);
    all.push_back(std::move(info));
    handles.push_back(handlesOf(*host_.files, vf.pci));
  }
  auto users = host_.users->of(handles);
  for (std::size_t i = 0; i < all.size() && i < users.size(); ++i) all[i].users = std::move(users[i]);
  return all;
}

Words Inventory::told(const VfPlace& vf) {
  const auto now = host_.port->read(vf);
  if (!now) return {};
  Words words = wordsOf(*now);
  const auto live = host_.port->tables(vf);
  if (!live) return words;
  if (live->gid_row) words.emplace_back("gid-row", std::to_string(*live->gid_row));
  if (live->granted) words.emplace_back("granted-port-guid", live->granted->str());
  if (!live->pkeys.empty()) words.emplace_back("pkeys", toString(live->pkeys));
  return words;
}

}  // namespace rdmove::fabric
