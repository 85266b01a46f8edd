#include "guestagent/agent/rdma_sysfs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view zero_gid = "0000:0000:0000:0000:0000:0000:0000:0000";

// Not a stream: this is called a hundred times while the guest waits. What cannot be read is an empty line.
std::string read_line(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 256> bytes{};
  const auto size = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  const std::string_view text(bytes.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  return std::string(text.substr(0, text.find('\n')));
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    out.push_back(entry->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

template <class Number>
bool to_number(const std::string& text, Number& out) {
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
}

// "0x001b", as sysfs writes a LID or a P_Key; 0 for what is none.
std::uint16_t hexadecimal(const std::string& text) {
  std::uint16_t value = 0;
  if (text.starts_with("0x")) std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return value;
}

}  // namespace

fs::path RdmaSysfs::port_path(const std::string& device, std::uint32_t port) const {
  return sys_ / "class/infiniband" / device / "ports" / std::to_string(port);
}

std::vector<std::string> RdmaSysfs::devices() const {
  return names_in(sys_ / "class/infiniband");
}

std::vector<std::uint32_t> RdmaSysfs::ports(const std::string& device) const {
  std::vector<std::uint32_t> out;
  for (const auto& name : names_in(sys_ / "class/infiniband" / device / "ports")) {
    if (std::uint32_t port = 0; to_number(name, port)) out.push_back(port);
  }
  return out;
}

// "4: ACTIVE"
std::string RdmaSysfs::port_state(const std::string& device) const {
  const auto line = read_line(port_path(device, 1) / "state");
  const auto colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

// The kernel fills its table of up to 1024 rows from the front, and only a deleted address leaves a gap. To
// read them all takes longer than all else in a restore (1.6 s in an emulated guest), so a long gap is taken
// for the end; and any gap, for who has found what it wanted.
std::vector<protocol::GidEntry> RdmaSysfs::gids(const std::string& device,
                                                const std::vector<std::string>& wanted) const {
  constexpr std::uint32_t longest_gap = 32;
  std::vector<protocol::GidEntry> out;
  const auto port = port_path(device, 1);
  auto missing = wanted;
  const auto gap_allowed = [&] { return wanted.empty() || !missing.empty() ? longest_gap : 1; };
  for (std::uint32_t index = 0, gap = 0; gap < gap_allowed() && out.size() < protocol::limits::gids;
       ++index) {
    auto gid = read_line(port / "gids" / std::to_string(index));
    if (gid.empty()) break;  // the table's end
    if (gid == zero_gid) {
      ++gap;
      continue;
    }
    gap = 0;
    std::erase(missing, gid);
    out.push_back({index, std::move(gid), read_line(port / "gid_attrs/types" / std::to_string(index))});
  }
  return out;
}

// A P_Key table has a fixed length, of which most is not used; "0x0000" is a row without a key.
std::optional<protocol::SubnetPort> RdmaSysfs::subnet_port(const std::string& device) const {
  const auto path = port_path(device, 1);
  if (read_line(path / "link_layer") != "InfiniBand") return std::nullopt;
  protocol::SubnetPort port;
  port.lid = hexadecimal(read_line(path / "lid"));
  for (std::size_t index = 0; index < protocol::limits::pkeys; ++index) {
    const auto line = read_line(path / "pkeys" / std::to_string(index));
    if (line.empty()) break;  // the table's end
    port.pkeys.push_back(hexadecimal(line));
  }
  while (!port.pkeys.empty() && port.pkeys.back() == 0) port.pkeys.pop_back();
  for (auto& entry : gids(device, {})) port.gids.push_back(std::move(entry.gid));
  return port;
}

// The interfaces of all ports and their children are in one folder: dev_port tells the port, and only a child
// has a file `parent`.
std::string RdmaSysfs::ipoib_netdev(const std::string& device) const {
  for (const auto& name : names_in(sys_ / "class/infiniband" / device / "device/net")) {
    const auto link = sys_ / "class/net" / name;
    const bool infiniband = read_line(link / "type") == "32";
    if (infiniband && read_line(link / "dev_port") == "0" && read_line(link / "parent").empty()) return name;
  }
  return {};
}

std::string RdmaSysfs::pci_address(const std::string& device) const {
  std::error_code none;
  const auto name = fs::read_symlink(sys_ / "class/infiniband" / device / "device", none).filename().string();
  return std::count(name.begin(), name.end(), ':') == 2 ? name : std::string{};
}

std::map<std::string, std::string> RdmaSysfs::uverbs() const {
  std::map<std::string, std::string> out;
  for (const auto& name : names_in(sys_ / "class/infiniband_verbs")) {
    if (auto device = read_line(sys_ / "class/infiniband_verbs" / name / "ibdev"); !device.empty()) {
      out.emplace(name, std::move(device));
    }
  }
  return out;
}

std::map<std::string, std::uint64_t> RdmaSysfs::counters(const std::string& device, std::uint32_t port,
                                                         const std::string& netdev) const {
  std::map<std::string, std::uint64_t> out;
  const auto add = [&](const fs::path& directory, const std::string& prefix) {
    for (const auto& name : names_in(directory)) {
      std::uint64_t value = 0;
      if (out.size() < protocol::limits::counters && to_number(read_line(directory / name), value)) {
        out.emplace(prefix + name, value);
      }
    }
  };
  add(port_path(device, port) / "counters", "");
  add(port_path(device, port) / "hw_counters", "");
  if (!netdev.empty()) add(sys_ / "class/net" / netdev / "statistics", "netdev_");
  out.erase("lifespan");  // a setting that lives among the hw_counters
  return out;
}

}  // namespace rdmove::agent
