#include "coordinator/evacuation/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rdmove::evacuation {
namespace {

std::string mebibytes(std::uint64_t kib) {
  return fmt::format("{} MiB", kib / 1024);
}

/// How busy its CPUs are with this VM on it.
double load(const HostRoom& room, const Need& need) {
  return static_cast<double>(room.vcpus + need.vcpus) / std::max(1U, room.cpus);
}

/// The one of those that take it whose CPUs are least busy then; on a tie the one with more memory, then the
/// first.
std::optional<std::size_t> best(const Need& need, const std::vector<HostRoom>& rooms,
                                const std::set<HostName>& excluded) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (excluded.count(rooms[i].host) != 0 || !misfit(need, rooms[i]).empty()) continue;
    const auto better = [&] {
      const double mine = load(rooms[i], need);
      const double its = load(rooms[*found], need);
      return mine < its || (mine == its && rooms[i].memory_kib > rooms[*found].memory_kib);
    };
    if (!found || better()) found = i;
  }
  return found;
}

std::size_t takers(const Need& need, const std::vector<HostRoom>& rooms) {
  return static_cast<std::size_t>(std::count_if(
      rooms.begin(), rooms.end(), [&](const HostRoom& room) { return misfit(need, room).empty(); }));
}

std::string whyNowhere(const Need& need, const std::vector<HostRoom>& rooms,
                       const std::set<HostName>& excluded) {
  std::string why;
  for (const HostRoom& room : rooms) {
    if (excluded.count(room.host) != 0) continue;
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", room.host.str(), misfit(need, room));
  }
  return why.empty() ? "no destination is left" : why;
}

}  // namespace

std::string misfit(const Need& need, const HostRoom& room) {
  for (const auto& [pool, wanted] : need.vfs) {
    const auto free = room.free_vfs.find(pool);
    if (free == room.free_vfs.end()) return fmt::format("it has no pool {} for this host's VMs", pool.str());
    if (free->second < wanted)
      return fmt::format("pool {} has {} VFs free, {} needed", pool.str(), free->second, wanted);
  }
  if (need.memory_kib > room.memory_kib) {
    return fmt::format("{} of memory free, {} needed", mebibytes(room.memory_kib),
                       mebibytes(need.memory_kib));
  }
  if (need.vcpus > room.cpus) return fmt::format("{} CPUs, {} needed", room.cpus, need.vcpus);
  return {};
}

void occupy(HostRoom& room, const Need& need) {
  for (const auto& [pool, wanted] : need.vfs) {
    const auto free = room.free_vfs.find(pool);
    if (free != room.free_vfs.end()) free->second -= std::min(free->second, wanted);
  }
  room.memory_kib -= std::min(room.memory_kib, need.memory_kib);
  room.vcpus += need.vcpus;
}

std::vector<Placement> place(const std::vector<Need>& needs, std::vector<HostRoom> rooms) {
  const std::vector<HostRoom> empty = rooms;
  std::vector<const Need*> left;
  for (const Need& need : needs) left.push_back(&need);
  std::vector<Placement> placed;
  while (!left.empty()) {
    const auto order = [&](const Need* need) {
      unsigned vfs = 0;
      for (const auto& [pool, wanted] : need->vfs) vfs += wanted;
      // Who fits nowhere comes last: it takes nobody's room.
      const std::size_t hosts = takers(*need, rooms);
      return std::tuple(hosts == 0, hosts, ~vfs, ~need->memory_kib);
    };
    const auto next = std::min_element(left.begin(), left.end(),
                                       [&](const Need* a, const Need* b) { return order(a) < order(b); });
    const Need& need = **next;
    Placement placement{need, std::nullopt, {}};
    if (const auto host = best(need, rooms, {})) {
      placement.destination = rooms[*host].host;
      occupy(rooms[*host], need);
    } else {
      const bool alone = takers(need, empty) != 0;
      placement.why_not = whyNowhere(need, rooms, {}) + (alone ? ", with the others there" : "");
    }
    placed.push_back(std::move(placement));
    left.erase(next);
  }
  return placed;
}

Choice choose(const Need& need, const HostName& planned, const std::vector<HostRoom>& rooms,
              const std::multimap<HostName, Need>& coming, const std::set<HostName>& excluded) {
  std::vector<HostRoom> then = rooms;
  for (HostRoom& room : then) {
    const auto [first, last] = coming.equal_range(room.host);
    for (auto each = first; each != last; ++each) occupy(room, each->second);
  }
  const auto as_planned =
      std::find_if(then.begin(), then.end(), [&](const HostRoom& room) { return room.host == planned; });
  if (as_planned != then.end() && excluded.count(planned) == 0 && misfit(need, *as_planned).empty())
    return {Choice::When::kNow, planned, {}};
  if (const auto other = best(need, then, excluded)) return {Choice::When::kNow, then[*other].host, {}};
  if (best(need, rooms, excluded)) return {Choice::When::kLater, {}, {}};
  return {Choice::When::kNever, {}, whyNowhere(need, rooms, excluded)};
}

std::vector<std::size_t> mayBegin(const std::vector<Turn>& turns, const Limits& limits) {
  std::vector<const Need*> moving;
  for (const Turn& turn : turns) {
    if (turn.state == Turn::State::kMoving) moving.push_back(turn.need);
  }
  const auto fabricIsFull = [&](const Need& need) {
    if (limits.per_fabric == 0) return false;
    return std::any_of(need.vfs.begin(), need.vfs.end(), [&](const auto& wanted) {
      return std::count_if(moving.begin(), moving.end(), [&](const Need* other) {
               return other->vfs.count(wanted.first) != 0;
             }) >= static_cast<std::ptrdiff_t>(limits.per_fabric);
    });
  };
  const auto peerMoves = [&](const Need& need) {
    return std::any_of(moving.begin(), moving.end(), [&](const Need* other) {
      return need.peers.count(other->uuid) != 0 || other->peers.count(need.uuid) != 0;
    });
  };
  std::vector<std::size_t> begin;
  for (std::size_t i = 0; i < turns.size() && moving.size() < limits.max_parallel; ++i) {
    if (turns[i].state != Turn::State::kWaiting) continue;
    const Need& need = *turns[i].need;
    if (fabricIsFull(need) || (!limits.peers_together && peerMoves(need))) continue;
    begin.push_back(i);
    moving.push_back(&need);
  }
  return begin;
}

}  // namespace rdmove::evacuation
