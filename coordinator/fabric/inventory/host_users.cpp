#include "coordinator/fabric/inventory/host_users.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

namespace rdmove::fabric {
namespace {

namespace fs = std::filesystem;

/// By what is held, which of the asked VFs have it: an IOMMU group can be several VFs'.
using Owners = std::multimap<std::string, std::size_t>;

std::string nameOfProcess(const fs::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::optional<int> pidOf(const fs::path& process) {
  const std::string text = process.filename().string();
  int pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return pid;
}

void findProcesses(const fs::path& proc, const Owners& owners, std::vector<std::vector<VfUser>>& users) {
  if (owners.empty()) return;
  std::error_code error;
  for (fs::directory_iterator process(proc, error), end; !error && process != end; process.increment(error)) {
    const auto pid = pidOf(process->path());
    if (!pid) continue;
    std::set<std::pair<std::size_t, std::string>> seen;  // one file may be open several times
    std::error_code gone;
    for (fs::directory_iterator fd(process->path() / "fd", gone); !gone && fd != end; fd.increment(gone)) {
      std::error_code closed;
      const std::string target = fs::read_symlink(fd->path(), closed).string();
      const auto [first, last] = owners.equal_range(target);
      for (auto owner = first; owner != last; ++owner) {
        if (!seen.emplace(owner->second, target).second) continue;
        users[owner->second].push_back({*pid, nameOfProcess(process->path()), target});
      }
    }
  }
}

struct FreeNetlink {
  void operator()(nl_sock* it) const { nl_socket_free(it); }
  void operator()(nl_cache* it) const { nl_cache_free(it); }
};

/// Interfaces with an address that somebody gave them; the kernel makes a link-local one for each by itself.
std::set<std::string> configuredInterfaces() {
  std::set<std::string> names;
  const std::unique_ptr<nl_sock, FreeNetlink> socket(nl_socket_alloc());
  nl_cache* made = nullptr;
  if (!socket || nl_connect(socket.get(), NETLINK_ROUTE) < 0 ||
      rtnl_addr_alloc_cache(socket.get(), &made) < 0)
    return names;
  const std::unique_ptr<nl_cache, FreeNetlink> cache(made);
  for (nl_object* each = nl_cache_get_first(cache.get()); each != nullptr; each = nl_cache_get_next(each)) {
    auto* address = reinterpret_cast<rtnl_addr*>(each);
    if (rtnl_addr_get_scope(address) == RT_SCOPE_LINK) continue;
    char name[IF_NAMESIZE];
    if (if_indextoname(static_cast<unsigned>(rtnl_addr_get_ifindex(address)), name) != nullptr)
      names.insert(name);
  }
  return names;
}

class ProcUsers : public HostUsers {
 public:
  ProcUsers(const SysfsFiles& files, fs::path proc) : files_(files), proc_(std::move(proc)) {}

  std::vector<std::vector<VfUser>> of(const std::vector<Handles>& vfs) override {
    std::vector<std::vector<VfUser>> users(vfs.size());
    Owners owners;
    bool any_netdev = false;
    for (std::size_t vf = 0; vf < vfs.size(); ++vf) {
      for (const std::string& device : vfs[vf].devices) owners.emplace(device, vf);
      any_netdev = any_netdev || !vfs[vf].netdevs.empty();
    }
    findProcesses(proc_, owners, users);
    if (!any_netdev) return users;
    const std::set<std::string> configured = configuredInterfaces();
    for (std::size_t vf = 0; vf < vfs.size(); ++vf) {
      for (const std::string& netdev : vfs[vf].netdevs) findNetwork(netdev, configured, users[vf]);
    }
    return users;
  }

 private:
  void findNetwork(const std::string& netdev, const std::set<std::string>& configured,
                   std::vector<VfUser>& users) const {
    const std::string master = files_.linkName(fmt::format("class/net/{}/master", netdev));
    if (!master.empty()) users.push_back({0, master, fmt::format("{} is a port of {}", netdev, master)});
    if (configured.contains(netdev)) users.push_back({0, netdev, fmt::format("{} has an address", netdev)});
  }

  const SysfsFiles& files_;
  fs::path proc_;
};

}  // namespace

Handles handlesOf(const SysfsFiles& files, const std::string& pci) {
  const std::string at = "bus/pci/devices/" + pci;
  Handles handles;
  for (const std::string& verbs : files.list(at + "/infiniband_verbs"))
    handles.devices.push_back("/dev/infiniband/" + verbs);
  const std::string group = files.linkName(at + "/iommu_group");
  if (!group.empty() && files.linkName(at + "/driver").starts_with("vfio"))
    handles.devices.push_back("/dev/vfio/" + group);
  handles.netdevs = files.list(at + "/net");
  return handles;
}

std::unique_ptr<HostUsers> makeHostUsers(const SysfsFiles& files, fs::path proc) {
  return std::make_unique<ProcUsers>(files, std::move(proc));
}

}  // namespace rdmove::fabric
