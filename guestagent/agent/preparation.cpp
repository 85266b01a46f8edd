#include "guestagent/agent/preparation.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "guestagent/agent/anchor.hpp"
#include "guestagent/protocol/inventory.hpp"
#include "guestagent/protocol/limits.hpp"

namespace rdmove::agent {
namespace {

using protocol::Error;
using protocol::ErrorCode;
using protocol::Holdout;

// Deleting a device that nobody holds takes the kernel some milliseconds; it gets these even at the deadline.
constexpr milliseconds removal_grace{500};
constexpr milliseconds first_look{10};
constexpr milliseconds slowest_look{100};
// Captured before the applications were asked; when they took longer than this it is captured again.
constexpr milliseconds capture_lasts{100};

template <class T>
bool contains(const std::vector<T>& items, const T& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

std::vector<std::string> texts(const std::vector<CapturedItem>& items) {
  std::vector<std::string> out;
  for (const auto& item : items) out.push_back(item.text);
  return out;
}

std::vector<std::string> without_empty(std::vector<std::string> names) {
  std::erase(names, std::string{});
  return names;
}

}  // namespace

Preparation::Preparation(Services& services, protocol::PrepareRequest request, Done done,
                         LateRemoval late_removal)
    : services_(services),
      request_(std::move(request)),
      done_(std::move(done)),
      late_removal_(std::move(late_removal)),
      started_(services.timers.now()),
      self_(std::make_shared<Preparation*>(this)) {}

milliseconds Preparation::remaining() const {
  return std::max(milliseconds(0), started_ + request_.deadline - services_.timers.now());
}

void Preparation::start() {
  if (auto resolved = resolve(); !resolved) return finish({tl::unexpected(resolved.error()), {}, {}});

  phase_ = Phase::Clearing;
  deadline_ = services_.timers.after(remaining(), [this] { deadline_passed(); });
  clear();
}

// Whoever cannot be asked may hold the move up, and nobody else has to stand still for that. The applications
// keep half of the time.
void Preparation::clear() {
  const bool in_the_way = !request_.force && !holders(services_.applications.pids()).empty();
  if (in_the_way && remaining() > request_.deadline / 2) return look_again(&Preparation::clear);
  quiesce();
}

void Preparation::quiesce() {
  if (auto captured = capture(); !captured) return call_off(captured.error());
  phase_ = Phase::Quiescing;
  next_look_.reset();
  look_interval_ = first_look;
  // With force it may come when the deletion is under way, or over.
  services_.applications.quiesce(request_.migration, remaining(), [self = std::weak_ptr(self_)] {
    const auto alive = self.lock();
    if (!alive || (*alive)->phase_ != Phase::Quiescing) return;
    (*alive)->phase_ = Phase::Accounting;
    (*alive)->account();
  });
}

Result<void> Preparation::resolve() {
  for (const auto& device : request_.devices) {
    auto link = services_.network.find(device.identity, device.kind);
    if (!link) {
      return protocol::fail(
          ErrorCode::DeviceNotFound,
          fmt::format("no network device with {} ({}) is in this guest", to_text(device.identity),
                      device.alias),
          protocol::MissingPiece{"device", to_text(device.identity), device.alias}.to_payload());
    }
    rdma_.push_back(rdma_device_on(services_.rdma, link->name));
    links_.push_back(std::move(*link));
  }
  return {};
}

// Who is in the way: whoever holds a context and is not believed to let go. An application that has said so
// may still keep librdmacm's own context: from a VF's driver it can be taken away, and with soft-RoCE
// librdmacm closes it only once the device is gone from its list, so the application does that on the
// DEVICE_REMOVAL which the deletion sends it.
std::vector<Holdout> Preparation::holders(const std::vector<std::int32_t>& believed) const {
  const auto names = without_empty(rdma_);
  if (names.empty()) return {};
  auto out = services_.processes.holding(names);
  std::erase_if(out, [&](const Holdout& holder) {
    for (std::size_t i = 0; i < rdma_.size(); ++i) {
      if (rdma_[i] == holder.device) return contains(believed, holder.pid);
    }
    return true;
  });
  return out;
}

// No event tells that a file descriptor was closed, so this looks again, ever more slowly, until the
// deadline.
void Preparation::account() {
  if (holders(services_.applications.released()).empty()) return remove();
  look_again(&Preparation::account);
}

void Preparation::look_again(void (Preparation::*look)()) {
  next_look_ =
      services_.timers.after(std::min(look_interval_, slowest_look), [this, look] { (this->*look)(); });
  look_interval_ *= 2;
}

void Preparation::deadline_passed() {
  next_look_.reset();
  auto holdouts = holders(services_.applications.released());
  for (auto app : services_.applications.unreleased()) {
    const bool known =
        std::any_of(holdouts.begin(), holdouts.end(), [&](const auto& h) { return h.pid == app.pid; });
    const auto names = without_empty(rdma_);
    app.device = names.empty() ? links_.front().name : names.front();
    if (!known) holdouts.push_back(std::move(app));
  }
  if (holdouts.empty() || request_.force) return remove();
  call_off(holdouts_error(std::move(holdouts)));
}

Error Preparation::holdouts_error(std::vector<Holdout> holdouts) const {
  std::string names;
  for (const auto& holdout : holdouts) {
    if (names.size() > 400) break;
    names += fmt::format("{}{} (pid {}) holds {}", names.empty() ? "" : ", ", holdout.name, holdout.pid,
                         holdout.device);
  }
  if (holdouts.size() > protocol::limits::holdouts) holdouts.resize(protocol::limits::holdouts);
  return {ErrorCode::Holdouts,
          fmt::format("not let go within {} ms: {}; end it, or go on with --force", request_.deadline.count(),
                      names),
          protocol::HoldoutsResult{std::move(holdouts)}.to_payload()};
}

void Preparation::call_off(Error error) {
  spdlog::warn("migration={} phase=prepare called off: {}", request_.migration.text(), error.message);
  services_.store.remove(request_.migration);
  services_.applications.resume();
  finish({tl::unexpected(std::move(error)), {}, {}});
}

bool Preparation::give_up() {
  if (phase_ == Phase::Removing || phase_ == Phase::Finished) return phase_ == Phase::Finished;
  call_off({ErrorCode::InternalError, "prepare was overtaken by restore"});
  return true;
}

Result<void> Preparation::capture() {
  captured_ = services_.timers.now();
  capture_ = {request_.migration, {}};
  for (std::size_t i = 0; i < links_.size(); ++i) {
    auto link = services_.network.capture(links_[i]);
    if (!link) return tl::unexpected(link.error());
    const auto gids =
        rdma_[i].empty() ? std::vector<protocol::GidEntry>{} : services_.rdma.gids(rdma_[i], {});
    auto manager = services_.managers.manager_of(links_[i]);
    auto leases = manager.empty() ? services_.leases.find(*link) : std::vector<dhcp::Lease>{};
    auto settings = rdma_[i].empty() ? std::vector<RdmaSetting>{} : services_.rdma_settings.capture(rdma_[i]);
    capture_.devices.push_back({request_.devices[i], std::move(*link), rdma_[i], gids, std::move(manager),
                                std::move(leases), std::move(settings),
                                rdma_[i].empty() ? std::nullopt : services_.rdma.subnet_port(rdma_[i])});
  }
  return services_.store.save(capture_);
}

void Preparation::remove() {
  if (services_.timers.now() - captured_ > capture_lasts) {
    if (auto captured = capture(); !captured) return call_off(captured.error());
  }
  phase_ = Phase::Removing;
  for (const auto& device : capture_.devices) {
    if (device.target.kind == DeviceKind::SoftRoce && !device.rdma.empty()) removing_.push_back(device.rdma);
  }
  if (removing_.empty())
    return succeed(request_.force ? holders(services_.applications.released()) : std::vector<Holdout>{});
  // Not earlier: librdmacm opens every device it sees, and an anchor that was made for a prepare that is
  // called off could not be deleted again while an application goes on with the device that stayed.
  if (services_.applications.count() > 0) drop_anchor(services_.rdma, without_empty(rdma_));
  deadline_ =
      services_.timers.after(std::max(remaining(), removal_grace), [this] { removal_deadline_passed(); });
  for (const auto& name : std::vector(removing_)) {
    services_.rdma.remove(
        name, [self = std::weak_ptr(self_), late = late_removal_, name](const Result<void>& result) {
          if (const auto alive = self.lock()) return (*alive)->removed(name, result);
          late(name);
        });
  }
}

void Preparation::removed(const std::string& name, const Result<void>& result) {
  if (!result) {
    spdlog::error("migration={} rdma={} was not deleted: {}", request_.migration.text(), name,
                  result.error().message);
    failure_ = result.error();
  }
  std::erase(removing_, name);
  if (!removing_.empty()) return;
  if (failure_) return finish({tl::unexpected(*failure_), capture_, {}});
  succeed({});
}

void Preparation::removal_deadline_passed() {
  auto holdouts = services_.processes.holding(removing_);
  if (holdouts.empty()) holdouts = services_.processes.holding_a_channel();
  if (holdouts.empty()) holdouts.push_back({0, "unknown", removing_.front()});
  for (auto& holdout : holdouts) {
    if (holdout.device.empty()) holdout.device = removing_.front();
  }
  if (request_.force) return succeed(std::move(holdouts));
  finish({tl::unexpected(holdouts_error(std::move(holdouts))), capture_, removing_});
}

void Preparation::succeed(std::vector<Holdout> holdouts) {
  protocol::PrepareResult answer;
  for (const auto& device : capture_.devices) {
    auto addresses = texts(device.link.addresses);
    if (addresses.size() > protocol::limits::addresses) addresses.resize(protocol::limits::addresses);
    answer.devices.push_back(
        {device.target.alias, device.target.identity, device.link.netdev, std::move(addresses)});
  }
  answer.applications = static_cast<std::uint32_t>(services_.applications.released().size());
  answer.took = services_.timers.now() - started_;
  answer.holdouts = std::move(holdouts);
  finish({std::move(answer), capture_, removing_});
}

void Preparation::finish(Outcome outcome) {
  phase_ = Phase::Finished;
  deadline_.reset();
  next_look_.reset();
  self_.reset();
  const auto done = std::move(done_);
  done(std::move(outcome));
}

}  // namespace rdmove::agent
