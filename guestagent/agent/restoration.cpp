#include "guestagent/agent/restoration.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "guestagent/agent/anchor.hpp"
#include "guestagent/agent/gid.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {
namespace {

// rtnetlink does not report a new RDMA device, and there is no event of its GIDs until it is opened; this is
// how often we look while that is all that is missing, until the deadline.
constexpr milliseconds look_interval{5};
// With the device open its event tells. The kernel keeps only so many of them for us.
constexpr milliseconds look_interval_with_events{100};

std::vector<std::string> bounded(std::vector<std::string> items, std::size_t max_count,
                                 std::size_t max_bytes) {
  if (items.size() > max_count) items.resize(max_count);
  for (auto& item : items) item.resize(std::min(item.size(), max_bytes));
  return items;
}

}  // namespace

Restoration::Restoration(Services& services, protocol::RestoreRequest request,
                         const std::optional<Capture>& capture, Done done)
    : services_(services),
      request_(std::move(request)),
      done_(std::move(done)),
      started_(services.timers.now()) {
  for (const auto& target : request_.devices) {
    auto& device = devices_.emplace_back();
    device.target = target;
    if (!capture) continue;
    for (const auto& captured : capture->devices) {
      if (captured.target.identity == target.identity) device.captured = captured;
    }
  }
}

void Restoration::start() {
  deadline_ = services_.timers.after(request_.deadline, [this] { deadline_passed(); });
  advance();
}

void Restoration::advance() {
  next_look_.reset();
  bool complete = true;
  std::optional<milliseconds> next;
  for (auto& device : devices_) {
    if (advance(device)) continue;
    complete = false;
    if (device.missing.piece != "gid" && device.missing.piece != "rdma") continue;
    const auto interval = device.gid_watch ? look_interval_with_events : look_interval;
    next = std::min(next.value_or(interval), interval);
  }
  if (complete) return succeed();
  if (next) next_look_ = services_.timers.after(*next, [this] { advance(); });
}

bool Restoration::advance(Device& device) {
  if (!find_link(device)) return false;
  if (device.complete) return true;
  if (!device.up.lost_addresses.empty()) return lacks(device, "address", device.up.lost_addresses.front());
  announce(device);
  if (!find_rdma(device)) return false;
  put_settings(device);
  if (!find_gids(device)) return false;
  if (!device.link->carrier) return lacks(device, "link", device.link->name);
  retry_routes(device);
  return device.complete = true;
}

// As early as it can be heard: switches and neighbours learn while the rest is done, before an application's
// first packet needs them.
void Restoration::announce(Device& device) {
  if (device.announced || !device.link->carrier) return;
  device.announced = true;
  for (const auto& link : device.up.links) services_.announcer.announce(link);
  confirm_leases(device);
}

// Asked as soon as there is a carrier, and never waited for: the addresses are in use, as RFC 2131 allows
// within their lifetime.
void Restoration::confirm_leases(const Device& device) {
  if (!device.captured) return;
  for (const auto& lease : device.captured->leases) {
    for (const auto& link : device.up.links) {
      if (link.captured_index != lease.captured_index) continue;
      services_.leases.confirm(link, lease, [warnings = lease_warnings_](const std::string& text) {
        spdlog::warn("{}", text);
        warnings->push_back(text);
      });
    }
  }
}

void Restoration::put_settings(Device& device) {
  if (device.settings_put || !device.captured || device.rdma.empty()) return;
  device.settings_put = true;
  for (auto& failed : services_.rdma_settings.put_back(device.rdma, device.captured->settings)) {
    device.up.warnings.push_back("not put back: " + failed);
  }
}

bool Restoration::lacks(Device& device, std::string piece, std::string name) {
  protocol::MissingPiece missing{std::move(piece), std::move(name), device.target.alias};
  if (missing != device.missing) {
    spdlog::info("migration={} phase=restore waits_for={} name={}", request_.migration.text(), missing.piece,
                 missing.name);
    device.missing = std::move(missing);
  }
  return false;
}

// Also notices that the device was unplugged and plugged again meanwhile: then all starts over for it.
bool Restoration::find_link(Device& device) {
  auto link = services_.network.find(device.target.identity, device.target.kind);
  if (!link) {
    device.link.reset();
    device.complete = false;
    close_rdma(device);  // its removal would wait for us
    return lacks(device, "device", to_text(device.target.identity));
  }
  const bool known = device.link && device.link->index == link->index;
  device.link = std::move(link);
  if (known && device.up.lost_addresses.empty() && !device.up.links.empty()) return true;

  device.complete = false;
  device.announced = false;
  device.settings_put = false;
  close_rdma(device);
  device.rdma.clear();
  device.failed_routes.clear();
  device.routes_retried = false;
  if (!known) {
    device.managed.reset();
    device.up = {};
  }
  if (!manager_is_done(device)) return lacks(device, "address", device.managed->missing());
  if (device.managed && device.managed->succeeded()) {
    device.up = device.managed->restored();
    return true;
  }
  bring_up(device);
  return true;
}

// Or has had its time, and what is missing is ours to do.
bool Restoration::manager_is_done(Device& device) {
  if (!device.captured || device.captured->managed_by.empty()) return true;
  if (!device.managed) {
    device.managed = std::make_unique<ManagedDevice>(services_, *device.captured,
                                                     started_ + request_.deadline / 2, [this] { advance(); });
  }
  return device.managed->look(*device.link);
}

void Restoration::bring_up(Device& device) {
  const auto& captured = device.captured;
  CapturedLink as_it_is;
  if (!captured) {
    as_it_is.index = device.link->index;
    as_it_is.netdev = device.link->name;
    as_it_is.identity = device.link->identity;
    as_it_is.mtu = device.link->mtu;
    as_it_is.up = true;
  }
  const auto& wanted = captured ? captured->link : as_it_is;
  device.up = services_.network.bring_up(*device.link, wanted);
  device.failed_routes = services_.network.put_routes(device.up.links, wanted);
  if (auto now = services_.network.find(device.target.identity, device.target.kind))
    device.link = std::move(now);
}

void Restoration::close_rdma(Device& device) {
  device.gid_watch.reset();
  device.gid_watch_asked = false;
}

// What failed for want of a carrier, or of a route that came after it.
void Restoration::retry_routes(Device& device) {
  if (device.failed_routes.empty() || device.routes_retried) return;
  device.routes_retried = true;
  device.failed_routes = services_.network.put_routes(device.up.links, device.captured->link);
}

bool Restoration::find_rdma(Device& device) {
  if (device.captured && device.captured->rdma.empty()) return true;
  auto found = rdma_device_on(services_.rdma, device.link->name);
  if (found != device.rdma) close_rdma(device);
  device.rdma = std::move(found);
  if (!device.rdma.empty()) return true;
  if (device.target.kind == DeviceKind::Vf) return lacks(device, "rdma", device.link->name);

  const auto name = free_rdma_name(device.captured ? device.captured->rdma : "rxe0");
  if (auto added = services_.rdma.add_soft_roce(name, device.link->name); !added) {
    if (device.rdma_error != added.error().message) spdlog::warn("rdma={} {}", name, added.error().message);
    device.rdma_error = added.error().message;
    return lacks(device, "rdma", name);
  }
  device.rdma = name;
  return true;
}

std::string Restoration::free_rdma_name(const std::string& wanted) const {
  const auto used = services_.rdma.list();
  const auto is_free = [&](const std::string& name) {
    return std::none_of(used.begin(), used.end(), [&](const auto& device) { return device.name == name; });
  };
  if (is_free(wanted)) return wanted;
  for (std::size_t i = 0;; ++i) {
    if (const auto name = fmt::format("rxe{}", i); is_free(name)) return name;
  }
}

// The device is opened only if the first look does not find all: with soft-RoCE it does, and opening costs an
// emulated guest some 20 to 70 ms. It is closed before anybody is told: we would be a holdout ourselves.
bool Restoration::find_gids(Device& device) {
  if (device.rdma.empty()) return true;
  auto missing = missing_gid(device);
  if (!missing.empty() && !std::exchange(device.gid_watch_asked, true)) {
    device.gid_watch = services_.gid_events.watch(device.rdma, [this] { advance(); });
    if (device.gid_watch) missing = missing_gid(device);  // what came before that is not reported
  }
  if (!missing.empty()) return lacks(device, "gid", std::move(missing));
  device.gid_watch.reset();
  return true;
}

// What was there at capture; without that, on Ethernet, a GID for each address that the device has now. Another
// device's GIDs may be others: then none is waited for.
std::vector<std::string> Restoration::wanted_gids(const Device& device) {
  std::vector<std::string> wanted;
  if (device.target.may_have_new_gids) return wanted;
  if (device.captured && !device.captured->gids.empty()) {
    for (const auto& entry : device.captured->gids) wanted.push_back(entry.gid);
  } else if (std::holds_alternative<MacAddress>(device.target.identity) && !device.up.links.empty()) {
    for (const auto& address : device.up.links.front().addresses) wanted.push_back(gid_of_address(address));
  }
  std::erase(wanted, std::string{});
  return wanted;
}

// Under whatever index.
std::string Restoration::missing_gid(Device& device) {
  auto wanted = wanted_gids(device);
  device.gids = services_.rdma.gids(device.rdma, wanted);
  for (auto& gid : wanted) {
    const bool there =
        std::any_of(device.gids.begin(), device.gids.end(), [&](const auto& e) { return e.gid == gid; });
    if (!there) return std::move(gid);
  }
  return {};
}

void Restoration::deadline_passed() {
  for (const auto& device : devices_) {
    if (device.complete) continue;
    auto text = fmt::format("{} ms passed and {} {} of {} is not there", request_.deadline.count(),
                            device.missing.piece, device.missing.name, device.target.alias);
    if (device.missing.piece == "rdma" && !device.rdma_error.empty()) text += ": " + device.rdma_error;
    return finish(
        protocol::fail(protocol::ErrorCode::DeadlinePassed, std::move(text), device.missing.to_payload()));
  }
}

void Restoration::succeed() {
  protocol::RestoreResult result;
  std::vector<std::string> all_addresses;
  for (const auto& device : devices_) {
    auto addresses = device.up.links.empty() ? std::vector<std::string>{} : device.up.links.front().addresses;
    all_addresses.insert(all_addresses.end(), addresses.begin(), addresses.end());
    auto gids = device.gids;
    if (gids.size() > protocol::limits::gids) gids.resize(protocol::limits::gids);
    result.devices.push_back(
        {device.target.alias, device.target.identity, device.link->name, device.rdma, std::move(gids),
         bounded(std::move(addresses), protocol::limits::addresses, protocol::limits::address_bytes),
         device.managed && device.managed->succeeded() ? device.captured->managed_by : std::string{},
         device.captured ? device.captured->port : std::nullopt,
         device.rdma.empty() ? std::nullopt : services_.rdma.subnet_port(device.rdma)});
    if (device.managed && !device.managed->succeeded()) result.warnings.push_back(device.managed->warning());
    result.warnings.insert(result.warnings.end(), device.up.warnings.begin(), device.up.warnings.end());
    for (const auto& route : device.failed_routes) result.warnings.push_back("not put back: " + route);
  }
  result.warnings.insert(result.warnings.end(), lease_warnings_->begin(), lease_warnings_->end());
  result.warnings = bounded(std::move(result.warnings), protocol::limits::warnings, 200);

  // Before `ready`, which makes applications look at their devices and so let go of it. Only a forced
  // prepare, or an agent that was restarted, has left one until now.
  weigh_anchor(services_.rdma);
  services_.applications.ready(request_.migration, all_addresses);
  result.took = services_.timers.now() - started_;
  finish(std::move(result));
}

void Restoration::finish(Result<protocol::RestoreResult> result) {
  deadline_.reset();
  next_look_.reset();
  const auto done = std::move(done_);
  done(std::move(result));
}

}  // namespace rdmove::agent
