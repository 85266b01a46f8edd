// What functions send.
#include "shadowdev/gsi/port_desk.hpp"

namespace rdmove::gsi {
namespace {

bool is_subnet_management(const Datagram& datagram) {
  const ManagementClass of = datagram.mad.management_class();
  return datagram.queue_pair == kSubnetManagementQueuePair || of == ManagementClass::SubnetLidRouted ||
         of == ManagementClass::SubnetDirectedRoute;
}

/// What the kernel's proxy for mlx4 lets a virtual function ask. Performance management would let it clear
/// the counters of any port of the fabric.
bool may_ask(ManagementClass of) {
  return of == ManagementClass::SubnetAdministration || of == ManagementClass::CommunicationManagement ||
         of == ManagementClass::DeviceManagement;
}

bool is_query(Method method) {
  return method == Method::Get || method == Method::GetTable || method == Method::GetMulti ||
         method == Method::GetTraceTable;
}

/// ServiceRecord, 15.2.5.14: ServiceGID at byte 8.
Gid service_gid(const Mad& mad) {
  return Gid(get_bytes<kSaDataOffset + 8, 16>(mad.bytes()));
}

}  // namespace

Verdict SharedPort::from_function(FunctionId function, const Datagram& datagram) {
  Function* from = find(function);
  const Verdict verdict = from == nullptr ? Verdict::NoFunction : outbound(*from, datagram);
  ++counters_[static_cast<std::size_t>(function)][verdict];
  return verdict;
}

Verdict SharedPort::outbound(Function& from, const Datagram& datagram) {
  if (datagram.mad.base_version() != 1) return Verdict::Malformed;
  const bool is_physical = from.id == kPhysicalFunction;
  if (is_subnet_management(datagram))
    return is_physical ? send(from.id, datagram) : Verdict::SubnetManagement;
  if (datagram.grh && !owns(from, datagram.grh->source)) return Verdict::ForeignGid;
  const ManagementClass of = datagram.mad.management_class();
  if (of == ManagementClass::CommunicationManagement && datagram.mad.method() == Method::Send)
    return cm_outbound(from, datagram);
  if (of == ManagementClass::SubnetAdministration) return sa_outbound(from, datagram);
  if (is_response(datagram.mad.method())) return answer_outbound(from, datagram);
  if (!is_physical && !may_ask(of)) return Verdict::ClassRefused;
  return request_outbound(from, datagram);
}

Verdict SharedPort::send(FunctionId from, const Datagram& datagram) {
  return outgoing_.push(from, datagram) ? Verdict::ToWire : Verdict::OverQuota;
}

Verdict SharedPort::request_outbound(Function& from, const Datagram& datagram) {
  if (!response_to(datagram.mad.method())) {
    // A trap, say: nothing comes back by which it could be sorted.
    return from.id == kPhysicalFunction ? send(from.id, datagram) : Verdict::ClassRefused;
  }
  if (!outgoing_.has_room(from.id)) return Verdict::OverQuota;
  const auto id = transactions(from.id).open(datagram, timekeeper_.now());
  if (!id) return Verdict::OverQuota;
  Datagram sent = datagram;
  sent.mad.set_transaction(*id);
  return send(from.id, sent);
}

// Only what it was asked: else it could answer in the place of the administrator to another function of this
// port, which believes answers that come from the LID that it asked.
Verdict SharedPort::answer_outbound(Function& from, const Datagram& datagram) {
  if (from.id == kPhysicalFunction) return send(from.id, datagram);
  const Owed answer{datagram.mad.transaction(), datagram.mad.management_class(), datagram.remote};
  const auto at = std::find(from.owed.begin(), from.owed.end(), answer);
  if (at == from.owed.end()) return Verdict::NoMatch;
  const Verdict verdict = send(from.id, datagram);
  if (verdict == Verdict::ToWire) from.owed.erase(at);
  return verdict;
}

Verdict SharedPort::sa_outbound(Function& from, const Datagram& datagram) {
  const Mad& mad = datagram.mad;
  const Method method = mad.method();
  if (method == Method::ReportResp) return Verdict::Absorbed;  // the port has answered for all
  if (is_response(method)) return answer_outbound(from, datagram);
  if (is_query(method)) return request_outbound(from, datagram);
  if (method != Method::Set && method != Method::Delete) {
    return from.id == kPhysicalFunction ? send(from.id, datagram) : Verdict::ClassRefused;
  }
  switch (mad.attribute()) {
    case attribute::kMcMemberRecord:
      return memberships_.ask(from.id, datagram, from.gids);
    case attribute::kInformInfo:
      if (method == Method::Set) return subscribed_.ask(from.id, datagram, from.gids);
      break;
    case attribute::kServiceRecord:
      if (owns(from, service_gid(mad))) return request_outbound(from, datagram);
      return deliver(from.id, answer_to(datagram, refusal_of(mad, SaStatus::InvalidGid))) ==
                     Verdict::ToFunction
                 ? Verdict::AnsweredHere
                 : Verdict::OverQuota;
    default:
      break;
  }
  // The port's GUIDs, say (GUIDInfoRecord): they are what tells functions apart.
  if (from.id == kPhysicalFunction) return request_outbound(from, datagram);
  return deliver(from.id, answer_to(datagram, refusal_of(mad, SaStatus::RequestDenied))) ==
                 Verdict::ToFunction
             ? Verdict::AnsweredHere
             : Verdict::OverQuota;
}

Verdict SharedPort::cm_outbound(Function& from, const Datagram& datagram) {
  const auto type = cm_message_type(datagram.mad);
  if (!type) return Verdict::Malformed;
  if (const auto gids = cm_gids(datagram.mad, *type); gids && !owns(from, gids->sender))
    return Verdict::ForeignGid;
  if (!outgoing_.has_room(from.id)) return Verdict::OverQuota;
  Datagram sent = datagram;
  const Verdict verdict = cm_->outbound(from.id, *type, sent, timekeeper_.now());
  return verdict == Verdict::ToWire ? send(from.id, sent) : verdict;
}

}  // namespace rdmove::gsi
