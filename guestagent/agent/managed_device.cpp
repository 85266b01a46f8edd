#include "guestagent/agent/managed_device.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace rdmove::agent {
namespace {

// The kernel makes link-local addresses, and those of router advertisements, whoever manages the device.
bool is_managers_work(const CapturedItem& address) {
  const bool v6 = address.text.find(':') != std::string::npos;
  return !(v6 && (address.expires || address.text.starts_with("fe80:")));
}

/// Else `missing` is the first that is not there.
bool has_routes(NetworkState& network, const LinkInfo& link, const CapturedLink& captured,
                std::string& missing) {
  if (captured.routes.empty()) return true;
  const auto now = network.capture(link);
  const auto is_there = [&](const CapturedItem& wanted) {
    return now && std::any_of(now->routes.begin(), now->routes.end(),
                              [&](const auto& route) { return route.text == wanted.text; });
  };
  const auto lacking = std::find_if_not(captured.routes.begin(), captured.routes.end(), is_there);
  if (lacking == captured.routes.end()) return true;
  missing = lacking->text;
  return false;
}

}  // namespace

ManagedDevice::ManagedDevice(Services& services, const CapturedDevice& captured, milliseconds until,
                             const std::function<void()>& look_again)
    : services_(services), captured_(captured), until_(until) {
  watch_ = services.address_events.watch(look_again);
  patience_ = services.timers.after(std::max(milliseconds(0), until - services.timers.now()), look_again);
}

bool ManagedDevice::look(const LinkInfo& link) {
  restored_ = {};
  succeeded_ = find(link, captured_.link);
  return succeeded_ || services_.timers.now() >= until_;
}

bool ManagedDevice::find(const LinkInfo& link, const CapturedLink& captured) {
  auto addresses = services_.network.addresses(link.index);
  for (const auto& wanted : captured.addresses) {
    if (!is_managers_work(wanted) ||
        std::find(addresses.begin(), addresses.end(), wanted.text) != addresses.end()) {
      continue;
    }
    missing_ = wanted.text;
    return false;
  }
  // After the addresses: a manager sets them first, and a route by a gateway needs one.
  if (!has_routes(services_.network, link, captured, missing_)) return false;
  restored_.links.push_back({link.index, link.name, link.identity, std::move(addresses), captured.index,
                             link.address, link.broadcast});
  for (const auto& child : captured.children) {
    const auto links = services_.network.links();
    const auto there =
        std::find_if(links.begin(), links.end(), [&](const auto& each) { return each.name == child.netdev; });
    if (there == links.end()) missing_ = child.netdev;
    if (there == links.end() || !find(*there, child)) return false;
  }
  return true;
}

std::string ManagedDevice::warning() const {
  return fmt::format("{} did not put {} back; the agent did", captured_.managed_by, missing_);
}

}  // namespace rdmove::agent
