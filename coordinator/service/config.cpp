#include "coordinator/service/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "coordinator/service/config_table.hpp"
#include "coordinator/service/config_values.hpp"

namespace rdmove {
namespace {

using config::ConfigError;
using config::Table;

constexpr std::size_t kLongestSocketPath = 107;  // sun_path of sockaddr_un, less its end
constexpr std::size_t kLargestFile = 1 << 20;
constexpr const char* kPage = "docs/configuration.md names every key.";

std::string absolutePath(Table& table, std::string_view key, std::string otherwise) {
  std::string path = table.text(key, "an absolute path", std::move(otherwise));
  if (!path.starts_with('/')) table.fail(key, "an absolute path", "\"" + path + "\"");
  return path;
}

std::string socketPath(Table& table, std::string_view key, std::string otherwise) {
  std::string path = absolutePath(table, key, std::move(otherwise));
  if (path.size() > kLongestSocketPath) {
    table.fail(key, fmt::format("a path of at most {} bytes", kLongestSocketPath),
               fmt::format("{} bytes", path.size()));
  }
  return path;
}

std::string hostPort(Table& table, std::string_view key) {
  std::string address = table.requiredText(key, "host:port");
  if (!config::isHostPort(address)) table.fail(key, "host:port", "\"" + address + "\"");
  return address;
}

void readDaemon(Table& root, Config& config) {
  auto daemon = root.table("daemon");
  if (!daemon) root.fail("daemon", "a table [daemon] with `host`", "nothing");
  const std::string host = daemon->requiredText("host", "this host's name, as its partners call it");
  if (!config::isName(host)) {
    daemon->fail("host", "a name of letters, digits, '.', '_' and '-'", "\"" + host + "\"");
  }
  config.host = HostName(host);
  config.state_dir = absolutePath(*daemon, "state_dir", config.state_dir);
  config.socket = socketPath(*daemon, "socket", config.socket);
  config.hook_socket = socketPath(*daemon, "hook_socket", config.hook_socket);
  config.socket_group = daemon->text("socket_group", "a group's name", config.socket_group);
  if (daemon->has("log_file")) {
    const std::string file = daemon->text("log_file", "an absolute path, or \"\"", "");
    config.log_file = file.empty() ? file : absolutePath(*daemon, "log_file", "");
  } else {
    (void)daemon->text("log_file", "", "");
  }
  config.log_level = daemon->text("log_level", "a level", config.log_level);
  constexpr std::array<std::string_view, 6> kLevels{"trace", "debug", "info", "warn", "error", "critical"};
  if (std::find(kLevels.begin(), kLevels.end(), config.log_level) == kLevels.end()) {
    daemon->fail("log_level", fmt::format("one of {}", fmt::join(kLevels, ", ")),
                 "\"" + config.log_level + "\"");
  }
  daemon->rejectUnknown();
}

void readLibvirt(Table& root, Config& config) {
  auto libvirt = root.table("libvirt");
  if (!libvirt) return;
  config.libvirt_uri = libvirt->text("uri", "a libvirt URI", config.libvirt_uri);
  if (config.libvirt_uri.find("://") == std::string::npos) {
    libvirt->fail("uri", "a libvirt URI such as \"qemu:///system\"", "\"" + config.libvirt_uri + "\"");
  }
  libvirt->rejectUnknown();
}

void readPartnerApi(Table& root, Config& config) {
  auto api = root.table("partner_api");
  if (!api) return;
  config.partner_listen = hostPort(*api, "listen");
  config.insecure = api->flag("insecure", config.insecure);
  if (auto tls = api->table("tls")) {
    config.tls.ca = absolutePath(*tls, "ca", config.tls.ca);
    config.tls.server_cert = absolutePath(*tls, "server_cert", config.tls.server_cert);
    config.tls.server_key = absolutePath(*tls, "server_key", config.tls.server_key);
    config.tls.client_cert = absolutePath(*tls, "client_cert", config.tls.client_cert);
    config.tls.client_key = absolutePath(*tls, "client_key", config.tls.client_key);
    tls->rejectUnknown();
  }
  api->rejectUnknown();
}

void readMetrics(Table& root, Config& config) {
  auto metrics = root.table("metrics");
  if (!metrics) return;
  config.metrics_listen = hostPort(*metrics, "listen");
  metrics->rejectUnknown();
}

void readTimeouts(Table& root, Config& config) {
  auto timeouts = root.table("timeouts");
  if (!timeouts) return;
  constexpr std::int64_t kHour = 3'600'000;
  for (const auto& [key, member] : kTimeoutKeys) {
    std::chrono::milliseconds& value = config.timeouts.*member;
    value = std::chrono::milliseconds(timeouts->number(key, 1, kHour, value.count()));
  }
  timeouts->rejectUnknown();
}

void readSubnet(PoolConfig& pool, Table& table) {
  constexpr std::string_view kSubnet = "an InfiniBand port of this host, as \"mlx5_0/1\"";
  const auto text = table.text("subnet", kSubnet);
  if (!text) return;
  const auto slash = text->find('/');
  const std::string port = slash == std::string::npos ? "" : text->substr(slash + 1);
  if (slash == 0 || port.size() != 1 || port[0] < '1' || port[0] > '9')
    return table.fail("subnet", kSubnet, "\"" + *text + "\"");
  pool.subnet_adapter = text->substr(0, slash);
  pool.subnet_port = port[0] - '0';
}

PoolConfig readPool(const std::string& name, Table& table) {
  PoolConfig pool;
  pool.name = PoolName(name);
  const std::string kind = table.requiredText("kind", "\"bridge\" or \"sriov\"");
  if (kind == "bridge") {
    pool.kind = PoolConfig::Kind::kBridge;
    pool.bridge = table.requiredText("bridge", "the name of a bridge");
    if (!config::isInterfaceName(pool.bridge)) {
      table.fail("bridge", "the name of a bridge (at most 15 characters)", "\"" + pool.bridge + "\"");
    }
    pool.slots = static_cast<int>(table.number("slots", 1, 1024, pool.slots));
  } else if (kind == "sriov") {
    pool.kind = PoolConfig::Kind::kSriov;
    constexpr std::string_view kPfs = "a list of PFs, as interface names or PCI addresses (\"0000:3b:00.0\")";
    pool.pfs = table.requiredTexts("pfs", kPfs);
    if (pool.pfs.empty()) table.fail("pfs", kPfs, "an empty list");
    for (const std::string& pf : pool.pfs) {
      if (!config::isInterfaceName(pf) && !config::isPciAddress(pf))
        table.fail("pfs", kPfs, "\"" + pf + "\"");
    }
    pool.soft_roce = table.flag("soft_roce", pool.soft_roce);
    readSubnet(pool, table);
  } else {
    table.fail("kind", "\"bridge\" or \"sriov\"", "\"" + kind + "\"");
  }
  table.rejectUnknown();
  return pool;
}

void readPools(Table& root, Config& config) {
  std::map<std::string, std::string> owner;  // bridge or PF to pool: a VF belongs to one pool
  for (auto& [name, table] : root.tables("pools")) {
    if (!config::isName(name))
      table.fail("kind", "the pool's name has other characters than letters, digits, '.', '_', '-'");
    PoolConfig pool = readPool(name, table);
    const bool bridge = pool.kind == PoolConfig::Kind::kBridge;
    const std::vector<std::string> parents = bridge ? std::vector<std::string>{pool.bridge} : pool.pfs;
    for (const std::string& parent : parents) {
      const auto [other, fresh] = owner.emplace(parent, name);
      if (!fresh)
        table.fail(bridge ? "bridge" : "pfs",
                   fmt::format("{} belongs to pool {} already", parent, other->second));
    }
    config.pools.emplace(pool.name, std::move(pool));
  }
}

PartnerConfig readPartner(const std::string& name, Table& table, const Config& config) {
  PartnerConfig partner;
  partner.name = HostName(name);
  partner.address = hostPort(table, "address");
  if (partner.name == config.host) table.fail("address", "this partner is this host (daemon.host)");
  if (!config.partner_listen.empty() && partner.address == config.partner_listen) {
    table.fail("address", "this is where this host itself listens (partner_api.listen)");
  }
  partner.san = table.text("san", "the DNS name in the partner's certificate", name);
  partner.libvirt_uri = table.text("libvirt_uri", "a libvirt URI", "qemu+tls://" + name + "/system");
  if (partner.libvirt_uri.find("://") == std::string::npos ||
      partner.libvirt_uri.find(":///") != std::string::npos) {
    table.fail("libvirt_uri", "a remote libvirt URI such as \"qemu+tls://hostb/system\"",
               "\"" + partner.libvirt_uri + "\"");
  }
  partner.migration_uri = table.text("migration_uri", "a migration URI such as \"tcp://hostb\", or \"\"", "");
  partner.stream_tls = table.flag("stream_tls", partner.stream_tls);
  for (const std::string& pool :
       table.requiredTexts("pools", "a list of this host's pools that it may use")) {
    if (!config.pools.contains(PoolName(pool))) {
      table.fail("pools", fmt::format("there is no pool \"{}\" in this file", pool));
    }
    partner.pools.emplace_back(pool);
  }
  table.rejectUnknown();
  return partner;
}

void readPartners(Table& root, Config& config) {
  for (auto& [name, table] : root.tables("partners")) {
    if (!config::isName(name))
      table.fail("address", "the partner's name has other characters than letters, digits, '.', '_', '-'");
    config.partners.emplace(HostName(name), readPartner(name, table, config));
  }
}

}  // namespace

Result<Config> parseConfig(const std::string& text, const std::string& file_name_for_errors) {
  const std::string attempted = "read the configuration";
  try {
    const toml::table parsed = toml::parse(text, file_name_for_errors);
    Table root(parsed, "", file_name_for_errors);
    Config config;
    readDaemon(root, config);
    readLibvirt(root, config);
    readPartnerApi(root, config);
    readMetrics(root, config);
    readTimeouts(root, config);
    readPools(root, config);
    readPartners(root, config);
    root.rejectUnknown();
    return config;
  } catch (const ConfigError& error) {
    return failure(ErrorCode::kBadInput, attempted, error.sentence, kPage);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    return failure(ErrorCode::kBadInput, attempted,
                   fmt::format("{}:{}:{}: {}", file_name_for_errors, at.line, at.column, error.description()),
                   kPage);
  }
}

Result<Config> readConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return failure(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "read the configuration",
                   fmt::format("{}: {}", path, std::strerror(errno)),
                   "Write it (rdmoved.toml.example is a start), or name another file with --config.");
  }
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file.eof())) {
    return failure(ErrorCode::kUnavailable, "read the configuration", fmt::format("{} cannot be read", path),
                   kPage);
  }
  if (text.size() > kLargestFile) {
    return failure(ErrorCode::kBadInput, "read the configuration",
                   fmt::format("{} is larger than 1 MiB", path), kPage);
  }
  return parseConfig(text, path);
}

}  // namespace rdmove
