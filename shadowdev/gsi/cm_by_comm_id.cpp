#include "shadowdev/gsi/cm_by_comm_id.hpp"

namespace rdmove::gsi {
CmByCommId::CmByCommId(const GidOwners& owners, const CmLimits& limits, std::uint64_t seed)
    : owners_(owners), limits_(limits), random_(seed) {}

Verdict CmByCommId::outbound(FunctionId from, CmMessageType type, Datagram& datagram, TimePoint now) {
  switch (type) {
    case CmMessageType::SidrRep:
      return Verdict::ToWire;  // it names the request by the id that its sender chose
    case CmMessageType::Req:
    case CmMessageType::SidrReq:
      return begin(from, *local_comm_id(datagram.mad, type), type == CmMessageType::SidrReq, datagram, now);
    default:
      return answer(from, type, datagram, now);
  }
}

Verdict CmByCommId::begin(FunctionId from, CommId local, bool is_sidr, Datagram& datagram, TimePoint now) {
  auto id = find_local(from, local, is_sidr);
  if (id && entries_.at(*id).phase != CmPhase::Asked) {
    remove(*id);  // the guest uses its number again, for another connection
    id.reset();
  }
  if (!id) {
    if (!make_room(from)) return Verdict::OverQuota;
    id = add({from, local, draw(), std::nullopt, datagram.remote, CmPhase::Asked, is_sidr, std::nullopt});
  }
  Entry& entry = entries_.at(*id);
  entry.deadline = now + limits_.setup;
  set_local_comm_id(datagram.mad, is_sidr ? CmMessageType::SidrReq : CmMessageType::Req, entry.on_wire);
  return Verdict::ToWire;
}

Verdict CmByCommId::answer(FunctionId from, CmMessageType type, Datagram& datagram, TimePoint now) {
  const CommId local = *local_comm_id(datagram.mad, type);
  const CommId of_peer = *remote_comm_id(datagram.mad, type);
  const bool is_first = type == CmMessageType::Rep || type == CmMessageType::Mra;
  auto id = find_local(from, local, false);
  if (id && is_first && entries_.at(*id).of_peer.value_or(of_peer) != of_peer) {
    remove(*id);
    id.reset();
  }
  if (!id && type == CmMessageType::Rej) {
    // The function never gave this connection a number that left the port, so none may leave it now.
    const auto heard = find_heard(from, datagram.remote, of_peer);
    if (heard && !entries_.at(*heard).local) remove(*heard);
    set_local_comm_id(datagram.mad, type, CommId{0});
    return Verdict::ToWire;
  }
  if (!id && !is_first) return Verdict::NoMatch;
  if (!id) {
    // Functions of one peer port can have the same number: an answered one with this key is another's.
    const auto heard = find_heard(from, datagram.remote, of_peer);
    if (heard && !entries_.at(*heard).local) remove(*heard);
    if (!make_room(from)) return Verdict::OverQuota;
    id = add({from, local, draw(), of_peer, datagram.remote, CmPhase::Answered, false, now + limits_.setup});
    heard_[{datagram.remote, of_peer, from}] = *id;
  }
  Entry& entry = entries_.at(*id);
  switch (type) {
    case CmMessageType::Rep:
      // Without a time limit: the RTU may be lost, and the connection live all the same (the first message
      // on it says so to the guest, and nothing of that passes here).
      if (entry.phase == CmPhase::Answered) entry.deadline.reset();
      break;
    case CmMessageType::Rtu:
      if (entry.phase == CmPhase::Closing) break;
      entry.phase = CmPhase::Established;
      entry.deadline.reset();
      break;
    case CmMessageType::Rej:
    case CmMessageType::Dreq:
    case CmMessageType::Drep:
      entry.phase = CmPhase::Closing;
      entry.deadline = now + limits_.closing;
      break;
    default:
      break;
  }
  set_local_comm_id(datagram.mad, type, entry.on_wire);
  return Verdict::ToWire;
}

std::optional<FunctionId> CmByCommId::inbound(CmMessageType type, Datagram& datagram, TimePoint now,
                                              Verdict& why) {
  if (type == CmMessageType::Req || type == CmMessageType::SidrReq)
    return hear_request(type, datagram, now, why);
  if (type == CmMessageType::Rej && remote_comm_id(datagram.mad, type) == CommId{0})
    return hear_unnamed_reject(datagram, now, why);
  const auto id = find_on_wire(type, datagram);
  if (!id) {
    why = Verdict::NoMatch;
    return std::nullopt;
  }
  learn(*id, type, datagram, now);
  const Entry& entry = entries_.at(*id);
  set_remote_comm_id(datagram.mad, type, *entry.local);
  why = Verdict::ToFunction;
  return entry.function;
}

// A SIDR_REQ says nowhere whom it is for, except in a GRH. Without one it is for the LID's owner.
std::optional<FunctionId> CmByCommId::hear_request(CmMessageType type, const Datagram& datagram,
                                                   TimePoint now, Verdict& why) {
  std::optional<FunctionId> function;
  if (const auto gids = cm_gids(datagram.mad, type)) {
    function = owners_.owner(gids->receiver);
  } else {
    function = datagram.grh ? owners_.owner(datagram.grh->destination) : kPhysicalFunction;
  }
  why = function ? Verdict::ToFunction : Verdict::NoFunction;
  if (!function || type == CmMessageType::SidrReq) return function;
  // Only a REJ for want of an answer needs this entry, so a full table costs no more than that.
  const CommId of_peer = *local_comm_id(datagram.mad, type);
  auto id = find_heard(*function, datagram.remote, of_peer);
  if (!id && make_room(*function)) {
    id = add({*function, std::nullopt, CommId{0}, of_peer, datagram.remote, CmPhase::Asked, false, now});
    heard_[{datagram.remote, of_peer, *function}] = *id;
  }
  if (id && !entries_.at(*id).local) entries_.at(*id).deadline = now + limits_.setup;
  return function;
}

// The sender waited for an answer in vain, so it has no number of ours to name: its own must do.
std::optional<FunctionId> CmByCommId::hear_unnamed_reject(const Datagram& datagram, TimePoint now,
                                                          Verdict& why) {
  const CommId of_peer = *local_comm_id(datagram.mad, CmMessageType::Rej);
  const auto first = heard_.lower_bound({datagram.remote, of_peer, FunctionId{0}});
  why = Verdict::NoMatch;
  if (first == heard_.end() || first->first.peer != datagram.remote || first->first.of_peer != of_peer)
    return std::nullopt;
  const auto second = std::next(first);
  if (second != heard_.end() && second->first.peer == datagram.remote && second->first.of_peer == of_peer)
    return std::nullopt;  // two functions: nobody gets what may be the other's
  Entry& entry = entries_.at(first->second);
  entry.phase = CmPhase::Closing;
  entry.deadline = now + limits_.closing;
  why = Verdict::ToFunction;
  return entry.function;
}

void CmByCommId::learn(EntryId id, CmMessageType type, const Datagram& datagram, TimePoint now) {
  Entry& entry = entries_.at(id);
  if (!entry.of_peer && type != CmMessageType::Rej) entry.of_peer = local_comm_id(datagram.mad, type);
  switch (type) {
    case CmMessageType::Rep:
    case CmMessageType::Mra:
      if (entry.phase == CmPhase::Asked) entry.deadline = now + limits_.setup;
      break;
    case CmMessageType::Rtu:
      if (entry.phase == CmPhase::Closing) break;
      entry.phase = CmPhase::Established;
      entry.deadline.reset();
      break;
    case CmMessageType::Rej:
    case CmMessageType::Dreq:
    case CmMessageType::Drep:
    case CmMessageType::SidrRep:
      entry.phase = CmPhase::Closing;
      entry.deadline = now + limits_.closing;
      break;
    default:
      break;
  }
}

}  // namespace rdmove::gsi
