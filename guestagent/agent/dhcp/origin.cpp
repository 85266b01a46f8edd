#include "guestagent/agent/dhcp/origin.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace rdmove::agent::dhcp {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_file_bytes = 1024 * 1024;
constexpr std::size_t most_files = 64;
constexpr std::size_t most_identifier_bytes = 255;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string out(most_file_bytes, '\0');
  file.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return out;
}

std::vector<fs::path> files_in(const fs::path& directory, std::string_view ending) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end && out.size() < most_files;
       entry.increment(error)) {
    if (entry->path().native().ends_with(ending)) out.push_back(entry->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> command_line(const fs::path& process) {
  const auto text = read_file(process / "cmdline");
  std::vector<std::string> out;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find(at, text.end(), '\0');
    out.emplace_back(at, end);
    at = end == text.end() ? end : end + 1;
  }
  return out;
}

std::vector<std::vector<std::string>> command_lines(const fs::path& proc) {
  std::vector<std::vector<std::string>> out;
  std::error_code error;
  for (fs::directory_iterator entry(proc, error), end; !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (auto arguments = command_line(entry->path()); !arguments.empty()) out.push_back(std::move(arguments));
  }
  return out;
}

Bytes identifier_for(const DeviceIdentity& identity) {
  const auto* guid = std::get_if<protocol::PortGuid>(&identity);
  return guid == nullptr ? Bytes{} : infiniband_identifier(*guid);
}

std::string without_prefix(const std::string& address) {
  return address.substr(0, address.find('/'));
}

bool of_dhclient(const fs::path& root, const CapturedLink& link, Lease& out) {
  for (const char* directory : {"var/lib/dhcp", "var/lib/dhclient", "run"}) {
    for (const char* ending : {".leases", ".lease"}) {
      for (const auto& file : files_in(root / directory, ending)) {
        auto id = dhclient_identifier(read_file(file), link.netdev, without_prefix(out.address));
        if (!id) continue;
        out.client = "dhclient";
        out.identifier = std::move(*id);
        out.identity = Identity::Known;
        return true;
      }
    }
  }
  return false;
}

bool of_dhcpcd(const fs::path& root, const CapturedLink& link, Lease& out) {
  const auto stored = read_file(root / "var/lib/dhcpcd" / (link.netdev + ".lease"));
  if (stored.empty()) return false;
  out.client = "dhcpcd";
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(stored.data()), stored.size());
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address_v4(without_prefix(out.address), error);
  if (auto id = error ? std::nullopt : identifier_in(bytes, address)) {
    out.identifier = std::move(*id);
    out.identity = Identity::Known;
  }
  return true;
}

bool of_udhcpc(const std::vector<std::vector<std::string>>& processes, const CapturedLink& link, Lease& out) {
  const auto* mac = std::get_if<MacAddress>(&link.identity);
  if (mac == nullptr) return false;  // it cannot do InfiniBand
  for (const auto& arguments : processes) {
    auto id = udhcpc_identifier(arguments, link.netdev, Bytes(mac->bytes().begin(), mac->bytes().end()));
    if (!id) continue;
    out.client = "udhcpc";
    out.identifier = std::move(*id);
    out.identity = Identity::Known;
    return true;
  }
  return false;
}

void collect(const CapturedLink& link, const fs::path& root,
             const std::vector<std::vector<std::string>>& processes, std::vector<Lease>& out) {
  const auto is_ipv4 = [](const CapturedItem& item) { return item.text.find(':') == std::string::npos; };
  const auto count = std::count_if(link.addresses.begin(), link.addresses.end(), is_ipv4);
  for (const auto& address : link.addresses) {
    if (!is_ipv4(address)) continue;
    Lease lease{link.netdev,      link.index, address.text, "unknown", identifier_for(link.identity),
                Identity::Assumed};
    // udhcpc's script sets no lifetime; with several addresses it cannot be told which is its own.
    const bool found = of_dhclient(root, link, lease) || (address.expires && of_dhcpcd(root, link, lease)) ||
                       ((address.expires || count == 1) && of_udhcpc(processes, link, lease));
    if (found || address.expires) out.push_back(std::move(lease));
  }
  for (const auto& child : link.children) collect(child, root, processes, out);
}

// "ff:00:0a" or a quoted string.
std::optional<Bytes> value_of(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
    if (text.find('\\') != text.npos) return std::nullopt;  // octal escapes: not worth a second parser
    return Bytes(text.begin(), text.end());
  }
  Bytes out;
  while (!text.empty()) {
    const auto end = std::min(text.find(':'), text.size());
    const std::string digits(text.substr(0, end));
    if (digits.empty() || digits.size() > 2 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      return std::nullopt;
    }
    out.push_back(static_cast<std::uint8_t>(std::stoi(digits, nullptr, 16)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::vector<Lease> leases_on(const CapturedLink& link, const fs::path& root, const fs::path& proc) {
  std::vector<Lease> out;
  collect(link, root, command_lines(proc), out);
  return out;
}

std::optional<Bytes> dhclient_identifier(std::string_view file, const std::string& netdev,
                                         const std::string& address) {
  const auto statement = [](std::string_view block, std::string_view key) -> std::string_view {
    const auto at = block.find(key);
    if (at == block.npos) return {};
    block.remove_prefix(at + key.size());
    return block.substr(0, block.find(';'));
  };
  std::optional<Bytes> out;
  while (true) {
    const auto begin = file.find("lease {");
    if (begin == file.npos) return out;
    file.remove_prefix(begin + 7);
    const auto block = file.substr(0, file.find("\n}"));
    if (statement(block, "interface ") != '"' + netdev + '"' ||
        statement(block, "fixed-address ") != address) {
      continue;
    }
    const auto text = statement(block, "dhcp-client-identifier ");
    auto id = text.empty() ? Bytes{} : value_of(text).value_or(Bytes{});
    if (id.size() <= most_identifier_bytes) out = std::move(id);
  }
}

std::optional<Bytes> udhcpc_identifier(const std::vector<std::string>& arguments, const std::string& netdev,
                                       const Bytes& hardware) {
  const auto program = [&](std::size_t at) { return fs::path(arguments[at]).filename() == "udhcpc"; };
  const bool applet = arguments.size() > 1 && fs::path(arguments[0]).filename() == "busybox" && program(1);
  if (arguments.empty() || !(program(0) || applet)) return std::nullopt;
  std::string interface = "eth0";
  Bytes id{1};  // hardware type and address, unless told otherwise
  id.insert(id.end(), hardware.begin(), hardware.end());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    const bool more = i + 1 < arguments.size();
    if ((argument == "-i" || argument == "--interface") && more) interface = arguments[++i];
    if (argument.starts_with("-i") && argument.size() > 2) interface = argument.substr(2);
    if (argument == "-C" || argument == "--clientid-none") id.clear();
    if (argument == "-x" && more && arguments[i + 1].starts_with("0x3d:")) {
      std::string colons;
      const auto digits = arguments[++i].substr(5);
      for (std::size_t at = 0; at < digits.size(); at += 2) {
        colons += (at == 0 ? "" : ":") + digits.substr(at, 2);
      }
      id = value_of(colons).value_or(Bytes{});
    }
  }
  return interface == netdev && id.size() <= most_identifier_bytes ? std::optional(id) : std::nullopt;
}

}  // namespace rdmove::agent::dhcp
