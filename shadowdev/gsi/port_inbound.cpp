// What comes from the wire.
#include "shadowdev/gsi/port_desk.hpp"

namespace rdmove::gsi {

Verdict SharedPort::from_wire(const Datagram& datagram) {
  const Verdict verdict = inbound(datagram);
  ++wire_counters_[verdict];
  return verdict;
}

Verdict SharedPort::inbound(const Datagram& datagram) {
  const Mad& mad = datagram.mad;
  if (mad.base_version() != 1) return Verdict::Malformed;
  const ManagementClass of = mad.management_class();
  if (datagram.queue_pair == kSubnetManagementQueuePair || of == ManagementClass::SubnetLidRouted ||
      of == ManagementClass::SubnetDirectedRoute) {
    return has_function(kPhysicalFunction) ? deliver(kPhysicalFunction, datagram) : Verdict::SubnetManagement;
  }
  if (of == ManagementClass::CommunicationManagement && mad.method() == Method::Send)
    return cm_inbound(datagram);
  if (is_response(mad.method())) return answer_inbound(datagram);
  if (of == ManagementClass::SubnetAdministration && mad.method() == Method::Report)
    return report_inbound(datagram);
  return request_inbound(datagram);
}

Verdict SharedPort::deliver(FunctionId to, const Datagram& datagram) {
  if (!has_function(to)) return Verdict::NoFunction;
  return incoming_.push(to, datagram) ? Verdict::ToFunction : Verdict::OverQuota;
}

Verdict SharedPort::cm_inbound(const Datagram& datagram) {
  const auto type = cm_message_type(datagram.mad);
  if (!type) return Verdict::Malformed;
  Datagram own = datagram;
  Verdict why = Verdict::NoMatch;
  const auto function = cm_->inbound(*type, own, timekeeper_.now(), why);
  return function ? deliver(*function, own) : why;
}

Verdict SharedPort::answer_inbound(const Datagram& datagram) {
  const FunctionId function = Transactions::owner_of(datagram.mad.transaction());
  auto& own = transactions_[static_cast<std::size_t>(function)];
  const auto original = own ? own->close(datagram, timekeeper_.now()) : std::nullopt;
  if (!original) return Verdict::NoMatch;
  Datagram answer = datagram;
  answer.mad.set_transaction(*original);
  if (function != kPortItself) return deliver(function, answer);
  if (answer.mad.attribute() == attribute::kMcMemberRecord) {
    memberships_.answered(answer.mad);
  } else {
    subscribed_.answered(answer.mad);
  }
  return Verdict::Absorbed;
}

// The administrator reports to the port, once per subscription, and wants one ReportResp for each. Who
// subscribed gets it; the ReportResp of a function goes no further than the port.
Verdict SharedPort::report_inbound(const Datagram& datagram) {
  if (datagram.remote != options_.subnet_manager || datagram.mad.attribute() != attribute::kNotice)
    return Verdict::NoMatch;
  Mad response = datagram.mad;
  response.set_method(Method::ReportResp);
  outgoing_.push(kPortItself, answer_to(datagram, response));

  const Notice what = notice(datagram.mad);
  unsigned expected = 0;
  std::array<unsigned, 256> wanted{};
  subscribed_.for_each([&](const RecordBytes& record, const SharedRecords::Holders& holders) {
    if (!matches(InformKind::info(record), what)) return;
    ++expected;
    for (const auto& [function, state] : holders) ++wanted[static_cast<std::size_t>(function)];
  });
  if (expected == 0) return Verdict::Absorbed;
  Notice::Bytes bytes{};
  what.write(bytes);
  const unsigned copy = fanout_.copy(bytes, datagram.mad.transaction(), expected, timekeeper_.now());
  if (copy == 0) return Verdict::Absorbed;
  bool is_delivered = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < copy) continue;
    Datagram report = datagram;
    if (report.grh) report.grh->destination = functions_[i]->gids.front();
    is_delivered =
        deliver(FunctionId{static_cast<std::uint8_t>(i)}, report) == Verdict::ToFunction || is_delivered;
  }
  return is_delivered ? Verdict::ToFunction : Verdict::Absorbed;
}

// A LID is the whole port's, so what comes without a GRH is for the physical function.
Verdict SharedPort::request_inbound(const Datagram& datagram) {
  const auto function = datagram.grh ? owner(datagram.grh->destination) : std::optional(kPhysicalFunction);
  if (!function || !has_function(*function)) return Verdict::NoFunction;
  const Verdict verdict = deliver(*function, datagram);
  if (verdict != Verdict::ToFunction || !response_to(datagram.mad.method())) return verdict;
  auto& owed = find(*function)->owed;
  if (owed.size() >= options_.functions.owed) owed.pop_front();
  owed.push_back({datagram.mad.transaction(), datagram.mad.management_class(), datagram.remote});
  return verdict;
}

}  // namespace rdmove::gsi
