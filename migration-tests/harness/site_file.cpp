// The hosts file of an operator (docs/harness.md).
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "coordinator/service/config_table.hpp"
#include "migration-tests/harness/site.hpp"

namespace rdmove::harness {
namespace {

using config::ConfigError;
using config::Table;

constexpr const char* kRun =
    "a command as a list, to which one shell script is added: [\"ssh\", \"root@hosta\"]";

// systemd gives a unit the manager's variables; this one must not stay there.
constexpr const char* kStartDaemon =
    "systemctl set-environment RDMOVE_STOP_AT=\"$RDMOVE_STOP_AT\"; systemctl reset-failed rdmoved; "
    "systemctl start rdmoved; s=$?; systemctl unset-environment RDMOVE_STOP_AT; exit $s";

Script script(Table& table, std::string_view key, const Words& prefix, std::string otherwise) {
  return {prefix, table.text(key, "a shell script", std::move(otherwise))};
}

Host readHost(const std::string& name, Table& table) {
  Host host;
  host.name = name;
  host.address = table.requiredText("address", "its address on the network between the hosts");
  host.prefix = table.requiredWords("run", kRun);
  host.rdmove = table.text("rdmove", "the program", host.rdmove);
  host.socket = table.text("socket", "a path", host.socket);
  host.libvirt_uri = table.text("libvirt_uri", "a URI", host.libvirt_uri);
  host.state_dir = table.text("state_dir", "a path", host.state_dir);
  host.start_daemon = script(table, "start_daemon", host.prefix, kStartDaemon);
  host.stop_daemon = script(table, "stop_daemon", host.prefix, "systemctl stop rdmoved");
  host.start_libvirtd = script(table, "start_libvirtd", host.prefix, "systemctl start libvirtd");
  host.stop_libvirtd = script(table, "stop_libvirtd", host.prefix, "systemctl stop libvirtd");
  host.libvirtd_pid =
      table.text("libvirtd_pid", "a shell script", "systemctl show -p MainPID --value libvirtd");
  const Words here = {"sh", "-c"};
  host.power_off = script(table, "power_off", here, "");
  host.power_on = script(table, "power_on", here, "");
  table.rejectUnknown();
  return host;
}

Guest readGuest(const std::string& name, Table& table) {
  Guest guest;
  guest.name = name;
  guest.address = table.requiredText("address", "its address on the fabric");
  guest.prefix = table.requiredWords("run", kRun);
  guest.start_agent = table.text("start_agent", "a shell script", guest.start_agent);
  guest.stop_agent = table.text("stop_agent", "a shell script", guest.stop_agent);
  table.rejectUnknown();
  return guest;
}

}  // namespace

Result<Site> parseSite(const std::string& text, const std::string& file_name) {
  const auto broken = [&](const std::string& cause) {
    return failure(ErrorCode::kBadInput, "read hosts from " + file_name, cause,
                   "docs/harness.md names every key.");
  };
  try {
    const toml::table parsed = toml::parse(text, file_name);
    Table root(parsed, "", file_name);
    Site site;
    for (auto& [name, table] : root.tables("hosts")) site.hosts.push_back(readHost(name, table));
    for (auto& [name, table] : root.tables("guests")) site.guests.emplace(name, readGuest(name, table));
    root.rejectUnknown();
    if (site.hosts.size() != 2)
      root.fail("hosts", "two tables, [hosts.NAME]", fmt::format("{}", site.hosts.size()));
    if (site.guests.size() < 2)
      root.fail("guests", "a table [guests.NAME] for the VM and one for its peer",
                fmt::format("{}", site.guests.size()));
    return site;
  } catch (const ConfigError& error) {
    return broken(error.sentence);
  } catch (const toml::parse_error& error) {
    return broken(fmt::format("{}:{}:{}: {}", file_name, error.source().begin.line,
                              error.source().begin.column, error.description()));
  }
}

Result<Site> readSite(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return failure(ErrorCode::kNotFound, "read hosts from " + path, "it cannot be read");
  return parseSite(text.str(), path);
}

}  // namespace rdmove::harness
