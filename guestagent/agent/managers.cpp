#include "guestagent/agent/managers.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace rdmove::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_lines = 10'000;

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> out;
  std::ifstream file(path);
  for (std::string line; out.size() < most_lines && std::getline(file, line);) out.push_back(std::move(line));
  return out;
}

std::string value_in(const std::vector<std::string>& lines, std::string_view key) {
  for (const auto& line : lines) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return {};
}

// "allow-hotplug eth0 eth1"
bool allows_hotplug(const fs::path& path, const std::string& netdev) {
  for (const auto& line : lines_of(path)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != "allow-hotplug") continue;
    while (words >> word) {
      if (word == netdev) return true;
    }
  }
  return false;
}

}  // namespace

bool ManagerFiles::is_hotplugged_by_ifupdown(const std::string& netdev) const {
  const auto etc = root_ / "etc/network";
  if (allows_hotplug(etc / "interfaces", netdev)) return true;
  std::error_code error;
  for (fs::directory_iterator entry(etc / "interfaces.d", error), end; !error && entry != end;
       entry.increment(error)) {
    if (allows_hotplug(entry->path(), netdev)) return true;
  }
  return false;
}

std::string ManagerFiles::manager_of(const LinkInfo& link) {
  const auto index = std::to_string(link.index);
  const auto nm = lines_of(root_ / "run/NetworkManager/devices" / index);
  if (value_in(nm, "managed=") == "true" && !value_in(nm, "connection-uuid=").empty())
    return "NetworkManager";

  const auto state = value_in(lines_of(root_ / "run/systemd/netif/links" / index), "ADMIN_STATE=");
  if (state == "configured" || state == "configuring") return "systemd-networkd";

  const auto up = lines_of(root_ / "run/network/ifstate");
  if (!value_in(up, link.name + "=").empty() && is_hotplugged_by_ifupdown(link.name)) return "ifupdown";
  return {};
}

}  // namespace rdmove::agent
