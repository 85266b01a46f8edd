#include "coordinator/cli/vf_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace rdmove::cli {
namespace {

constexpr Range kVlan{1, 4094, ""};
constexpr std::array<std::string_view, 7> kSettings = {
    "trust", "spoof-check", "link", "min-rate", "max-rate", "vlan-priority", "vlan-protocol"};

/// The keys of the identity beyond the MAC.
std::string applyIdentity(VfSpec& spec, std::string_view key, std::string_view value) {
  if (key == "vlan") {
    const auto vlan = readNumber(value, kVlan);
    if (!vlan) return "vlan: " + vlan.error();
    spec.vlan = *vlan;
  } else if (key == "node-guid" || key == "port-guid") {
    const auto guid = Guid::parse(value);
    if (!guid) return fmt::format("{}: {}", key, guid.error().cause);
    (key == "node-guid" ? spec.node_guid : spec.port_guid) = *guid;
  } else if (key == "pkeys") {
    std::string table(value);
    std::replace(table.begin(), table.end(), '/', ' ');
    auto keys = parsePartitionKeys(table);
    if (!keys) return "pkeys: " + keys.error().cause;
    spec.pkeys = std::move(*keys);
  } else if (std::find(kSettings.begin(), kSettings.end(), key) != kSettings.end()) {
    if (value.empty()) return fmt::format("{} has no value", key);
    spec.settings.emplace(key, value);
  } else {
    return fmt::format(
        "'{}' is not a key; the keys are alias, pool, model, continuity, mac, vlan, node-guid, port-guid, "
        "pkeys, {}",
        key, fmt::join(kSettings, ", "));
  }
  return {};
}

/// Puts one key's value into the spec; the text of what is wrong, or nothing.
std::string apply(VfSpec& spec, std::string_view key, std::string_view value) {
  if (key == "alias") {
    const auto alias = readAlias(value);
    if (!alias) return alias.error();
    spec.alias = DeviceAlias(*alias);
  } else if (key == "pool") {
    const auto pool = readName(value);
    if (!pool) return "pool: " + pool.error();
    spec.pool = PoolName(*pool);
  } else if (key == "model") {
    spec.model = parseModel(value);
    if (!spec.model)
      return fmt::format("'{}' is not a model; give shared-port, virtual-switch or roce", value);
  } else if (key == "continuity") {
    spec.continuity = parseContinuity(value);
    if (!spec.continuity)
      return fmt::format("'{}' is not a continuity; give reconnect, park or carry", value);
  } else if (key == "mac") {
    const auto mac = readMac(value);
    if (!mac) return mac.error();
    spec.mac = *mac;
  } else {
    return applyIdentity(spec, key, value);
  }
  return {};
}

}  // namespace

Reading<VfSpec> readVfSpec(std::string_view text) {
  VfSpec spec;
  std::set<std::string_view> seen;
  std::string_view rest = text;
  while (true) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return tl::unexpected(
          fmt::format("'{}' is not KEY=VALUE; write it like alias=ua-rdma0,pool=fabric", pair));
    }
    const std::string_view key = pair.substr(0, equals);
    if (!seen.insert(key).second) return tl::unexpected(fmt::format("'{}' is given twice", key));
    if (std::string problem = apply(spec, key, pair.substr(equals + 1)); !problem.empty()) {
      return tl::unexpected(std::move(problem));
    }
    if (pair.size() == rest.size()) break;
    rest.remove_prefix(pair.size() + 1);
  }
  if (spec.alias.empty())
    return tl::unexpected(std::string("alias is missing; write it like alias=ua-rdma0,pool=fabric"));
  if (spec.pool.empty())
    return tl::unexpected(std::string("pool is missing; write it like alias=ua-rdma0,pool=fabric"));
  return spec;
}

}  // namespace rdmove::cli
