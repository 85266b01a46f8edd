// The entries of CmByCommId: found, added, aged, and taken along.
#include "shadowdev/gsi/cm_by_comm_id.hpp"

namespace rdmove::gsi {
namespace {

std::uint32_t number(CommId id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace

void CmByCommId::expire(TimePoint now) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const EntryId id = at->first;
    const bool is_over = at->second.deadline && *at->second.deadline <= now;
    ++at;
    if (is_over) remove(id);
  }
}

std::optional<TimePoint> CmByCommId::next_deadline() const {
  std::optional<TimePoint> next;
  for (const auto& [id, entry] : entries_) {
    if (entry.deadline && (!next || *entry.deadline < *next)) next = entry.deadline;
  }
  return next;
}

void CmByCommId::forget(FunctionId function) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const EntryId id = at->first;
    const bool is_its = at->second.function == function;
    ++at;
    if (is_its) remove(id);
  }
}

std::vector<CmConnection> CmByCommId::connections(FunctionId function, TimePoint now) const {
  std::vector<CmConnection> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.function != function || !entry.local) continue;
    CmConnection connection{*entry.local, entry.on_wire, entry.of_peer, entry.peer,
                            entry.phase,  entry.is_sidr, std::nullopt};
    if (entry.deadline) {
      connection.expires_in =
          std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(*entry.deadline - now));
    }
    all.push_back(connection);
  }
  return all;
}

void CmByCommId::adopt(FunctionId function, const std::vector<CmConnection>& all, TimePoint now) {
  for (const CmConnection& one : all) {
    if (find_local(function, one.of_function, one.is_sidr)) continue;
    std::optional<TimePoint> deadline;
    if (one.expires_in) deadline = now + *one.expires_in;
    const EntryId id = add(
        {function, one.of_function, one.on_wire, one.of_peer, one.peer, one.phase, one.is_sidr, deadline});
    if (one.phase == CmPhase::Answered && one.of_peer) heard_[{one.peer, *one.of_peer, function}] = id;
  }
}

std::optional<CmByCommId::EntryId> CmByCommId::find_local(FunctionId function, CommId local,
                                                          bool is_sidr) const {
  const auto at = by_local_.find({function, local, is_sidr});
  return at == by_local_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<CmByCommId::EntryId> CmByCommId::find_heard(FunctionId function, Lid peer,
                                                          CommId of_peer) const {
  const auto at = heard_.find({peer, of_peer, function});
  return at == heard_.end() ? std::nullopt : std::optional(at->second);
}

// Two functions have one number only if one of them came from another port. Then the peer's number decides,
// which is unique at the peer, and with it the peer's LID; what neither tells apart is nobody's.
std::optional<CmByCommId::EntryId> CmByCommId::find_on_wire(CmMessageType type,
                                                            const Datagram& datagram) const {
  const CommId to = *remote_comm_id(datagram.mad, type);
  const auto of_peer = local_comm_id(datagram.mad, type);
  struct Best {
    int rank = 0;
    std::optional<EntryId> id;
    bool is_tie = false;
  } best;
  const auto [first, last] = by_wire_.equal_range(number(to));
  for (auto at = first; at != last; ++at) {
    const Entry& entry = entries_.at(at->second);
    if (!entry.local || entry.is_sidr != (type == CmMessageType::SidrRep)) continue;
    if (datagram.grh && owners_.owner(datagram.grh->destination) != entry.function) continue;
    const bool is_named = entry.of_peer && of_peer && *entry.of_peer == *of_peer;
    // A REJ may come from somebody who has given the connection no number.
    if (entry.of_peer && !is_named && type != CmMessageType::Rej) continue;
    const int rank = 1 + (is_named ? 2 : 0) + (entry.peer == datagram.remote ? 1 : 0);
    if (rank > best.rank) {
      best = {rank, at->second, false};
    } else if (rank == best.rank) {
      best.is_tie = true;
    }
  }
  return best.is_tie ? std::nullopt : best.id;
}

// Only the function's own: what is over goes first, then what never began, then what is half open.
bool CmByCommId::make_room(FunctionId function) {
  if (count_[index_of(function)] < limits_.connections_per_function) return true;
  std::optional<EntryId> closing;
  std::optional<EntryId> heard;
  std::optional<EntryId> half_open;
  for (const auto& [id, entry] : entries_) {
    if (entry.function != function || entry.phase == CmPhase::Established) continue;
    auto& oldest = entry.phase == CmPhase::Closing ? closing : !entry.local ? heard : half_open;
    if (!oldest) oldest = id;
  }
  const auto victim = closing ? closing : heard ? heard : half_open;
  if (victim) remove(*victim);
  return victim.has_value();
}

CmByCommId::EntryId CmByCommId::add(Entry entry) {
  const EntryId id = next_++;
  if (entry.local) {
    by_local_[{entry.function, *entry.local, entry.is_sidr}] = id;
    by_wire_.emplace(number(entry.on_wire), id);
  }
  ++count_[index_of(entry.function)];
  entries_.emplace(id, entry);
  return id;
}

void CmByCommId::remove(EntryId id) {
  const Entry entry = entries_.at(id);
  if (entry.local) {
    by_local_.erase({entry.function, *entry.local, entry.is_sidr});
    const auto [first, last] = by_wire_.equal_range(number(entry.on_wire));
    for (auto at = first; at != last; ++at) {
      if (at->second != id) continue;
      by_wire_.erase(at);
      break;
    }
  }
  if (entry.of_peer) {
    const auto at = heard_.find({entry.peer, *entry.of_peer, entry.function});
    if (at != heard_.end() && at->second == id) heard_.erase(at);
  }
  --count_[index_of(entry.function)];
  entries_.erase(id);
}

CommId CmByCommId::draw() {
  while (true) {
    const auto id = static_cast<std::uint32_t>(random_());
    if (id != 0 && !by_wire_.contains(id)) return CommId{id};
  }
}

}  // namespace rdmove::gsi
