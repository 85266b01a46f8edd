#include "coordinator/fabric/subnet/moved_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace rdmove {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr unsigned kPort = 1;  // a vHCA has one

unsigned number(Lid lid) {
  return static_cast<unsigned>(lid);
}

class Backoff final : public Patience {
 public:
  explicit Backoff(milliseconds limit) : end_(steady_clock::now() + limit) {}
  bool again() override {
    const auto now = steady_clock::now();
    if (now >= end_) return false;
    std::this_thread::sleep_for(std::min<steady_clock::duration>(pause_, end_ - now));
    pause_ = std::min(2 * pause_, milliseconds(100));
    return true;
  }

 private:
  const steady_clock::time_point end_;
  milliseconds pause_{5};
};

/// An SM that is busy with a change may not answer; a refusal will not become an answer.
bool isWorthAnotherLook(const Error& error) {
  return error.code == ErrorCode::kTimeout || error.code == ErrorCode::kUnavailable;
}

/// What is still missing, or the LID.
Result<Lid> lookAtVirtualSwitch(Subnet& subnet, const KnownPort& before) {
  const std::string what = "find port " + before.port_guid.str() + " at its new place";
  const auto missing = [&](std::string why) { return failure(ErrorCode::kTimeout, what, std::move(why)); };
  const auto node = subnet.node(before.port_guid);
  if (!node) return tl::unexpected(node.error());
  if (!*node) return missing("the subnet administration does not have it yet");
  const auto cable = subnet.attachment((*node)->lid, kPort);
  if (!cable) return tl::unexpected(cable.error());
  if (!*cable) return missing("the subnet administration has no link of it yet");
  if (before.attachment && **cable == *before.attachment) {
    return missing(fmt::format("the subnet administration still has it at LID {} port {}",
                               number((*cable)->lid), (*cable)->port));
  }
  const auto itself = subnet.ask((*node)->lid);
  if (!itself) return tl::unexpected(itself.error());
  if (itself->port_guid != before.port_guid) {
    return missing(fmt::format("at LID {} port {} answers", number((*node)->lid), itself->port_guid.str()));
  }
  return (*node)->lid;
}

Result<Lid> lookAtSharedPort(Subnet& subnet, const Gid& gid, Lid destination) {
  const std::string what = "find " + gid.str() + " at its new place";
  const auto path = subnet.path(gid);
  if (!path) return tl::unexpected(path.error());
  if (!*path) return failure(ErrorCode::kTimeout, what, "the subnet administration knows no path to it");
  if ((*path)->to != destination) {
    return failure(
        ErrorCode::kTimeout, what,
        fmt::format("its path leads to LID {}, not to {}", number((*path)->to), number(destination)));
  }
  return destination;
}

template <class Look>
Result<Lid> lookUntil(Patience& patience, Look look) {
  for (;;) {
    auto found = look();
    if (found || !isWorthAnotherLook(found.error()) || !patience.again()) return found;
  }
}

}  // namespace

std::unique_ptr<Patience> patienceOf(milliseconds limit) {
  return std::make_unique<Backoff>(limit);
}

Result<KnownPort> lookUpPort(Subnet& subnet, const Gid& gid) {
  KnownPort port{gid, gid.guid(), {}, {}};
  const auto path = subnet.path(gid);
  if (!path) return tl::unexpected(path.error());
  if (!*path) {
    return failure(ErrorCode::kNotFound, "look up " + gid.str(),
                   "the subnet administration knows no path to it",
                   "Is its port up, and in a partition of this host's port?");
  }
  port.lid = (*path)->to;
  const auto cable = subnet.attachment(port.lid, kPort);
  if (!cable) return tl::unexpected(cable.error());
  port.attachment = *cable;
  return port;
}

Result<Lid> awaitSharedPort(Subnet& subnet, const Gid& gid, Lid destination, Patience& patience) {
  return lookUntil(patience, [&] { return lookAtSharedPort(subnet, gid, destination); });
}

Result<Lid> awaitVirtualSwitch(Subnet& subnet, const KnownPort& before, Patience& patience) {
  return lookUntil(patience, [&] { return lookAtVirtualSwitch(subnet, before); });
}

Result<void> LidBook::note(Subnet& subnet, const std::vector<Guid>& ports) {
  std::vector<std::pair<Guid, Lid>> noted;
  for (const Guid port : ports) {
    const auto node = subnet.node(port);
    if (!node) return tl::unexpected(node.error());
    if (*node) noted.emplace_back(port, (*node)->lid);
  }
  noted_ = std::move(noted);
  return {};
}

Result<std::vector<LidChange>> LidBook::changes(Subnet& subnet) const {
  std::vector<LidChange> changes;
  for (const auto& [port, lid] : noted_) {
    const auto node = subnet.node(port);
    if (!node) return tl::unexpected(node.error());
    const Lid now = *node ? (*node)->lid : Lid{};
    if (now != lid) changes.push_back({port, lid, now});
  }
  return changes;
}

}  // namespace rdmove
