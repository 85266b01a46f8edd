#include "shadowdev/gsi/record_kind.hpp"

namespace rdmove::gsi {
namespace {

std::span<const std::byte, McMemberRecord::kBytes> view(const RecordBytes& record) {
  return record;
}

RecordBytes bytes_of(const McMemberRecord& record) {
  RecordBytes bytes{};
  record.write(bytes);
  return bytes;
}

Mad request_for(Method method, const McMemberRecord& record, std::uint64_t mask) {
  Mad mad =
      Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, method, attribute::kMcMemberRecord);
  set_component_mask(mad, mask);
  set_member_record(mad, record);
  return mad;
}

/// Selectors: 0 greater than, 1 less than, 2 exactly, 3 the best there is (15.2.5.17).
bool satisfies(std::uint8_t selector, std::uint8_t wanted, std::uint8_t is) {
  switch (selector) {
    case 0:
      return is > wanted;
    case 1:
      return is < wanted;
    case 2:
      return is == wanted;
    default:
      return true;
  }
}

}  // namespace

RecordKey MulticastKind::key(const Gid& group) {
  RecordKey key{};
  std::copy(group.bytes().begin(), group.bytes().end(), key.begin());
  return key;
}

tl::expected<Wanted, SaStatus> MulticastKind::read(const Mad& request, const std::vector<Gid>& own) const {
  const std::uint64_t mask = component_mask(request);
  const McMemberRecord record = member_record(request);
  const bool is_join = request.method() == Method::Set;
  if ((mask & member::kPort) == 0 || (mask & member::kJoinState) == 0)
    return tl::unexpected(SaStatus::InsufficientComponents);
  if (std::find(own.begin(), own.end(), record.port) == own.end())
    return tl::unexpected(SaStatus::InvalidGid);
  if (record.join_state.empty()) return tl::unexpected(SaStatus::RequestInvalid);
  const bool is_nameless = (mask & member::kGroup) == 0 || record.group.is_zero();
  if (is_nameless && !is_join) return tl::unexpected(SaStatus::InsufficientComponents);
  if (!is_nameless && !record.group.is_multicast()) return tl::unexpected(SaStatus::RequestInvalid);
  return Wanted{key(is_nameless ? Gid{} : record.group), record.join_state, is_join, is_nameless};
}

RecordKey MulticastKind::key_of(const RecordBytes& record) const {
  return key(McMemberRecord::read(view(record)).group);
}

SaStatus MulticastKind::check(const RecordBytes& record, const Mad& join) const {
  const std::uint64_t mask = component_mask(join);
  const McMemberRecord is = McMemberRecord::read(view(record));
  const McMemberRecord wanted = member_record(join);
  const auto has = [mask](std::uint64_t bits) { return (mask & bits) == bits; };
  const bool fits =
      (!has(member::kQueueKey) || wanted.queue_key == is.queue_key) &&
      (!has(member::kMulticastLid) || wanted.multicast_lid == is.multicast_lid) &&
      (!has(member::kTrafficClass) || wanted.traffic_class == is.traffic_class) &&
      (!has(member::kPartitionKey) || wanted.partition_key == is.partition_key) &&
      (!has(member::kServiceLevel) || wanted.service_level == is.service_level) &&
      (!has(member::kFlowLabel) || wanted.flow_label == is.flow_label) &&
      (!has(member::kHopLimit) || wanted.hop_limit == is.hop_limit) &&
      (!has(member::kScope) || wanted.scope == is.scope) &&
      (!has(member::kMtuSelector | member::kMtu) || satisfies(wanted.mtu_selector, wanted.mtu, is.mtu)) &&
      (!has(member::kRateSelector | member::kRate) ||
       satisfies(wanted.rate_selector, wanted.rate, is.rate)) &&
      (!has(member::kLifeTimeSelector | member::kLifeTime) ||
       satisfies(wanted.life_time_selector, wanted.life_time, is.life_time));
  return fits ? SaStatus::Success : SaStatus::RequestInvalid;
}

Mad MulticastKind::join(const Mad& request) const {
  Mad mad = request;
  McMemberRecord record = member_record(request);
  record.port = port_;
  record.proxy_join = false;
  set_member_record(mad, record);
  return mad;
}

// With all that a new group needs: this port's functions may have been the only members, and the group be
// gone. Where it is still there, these are its values, so the administrator finds that they fit.
Mad MulticastKind::rejoin(const RecordBytes& record, JoinState state) const {
  McMemberRecord again = McMemberRecord::read(view(record));
  again.port = port_;
  again.join_state = state;
  again.proxy_join = false;
  again.multicast_lid = 0;
  again.mtu_selector = again.rate_selector = again.life_time_selector = 2;
  std::uint64_t mask = member::kGroup | member::kPort | member::kJoinState;
  if (state.covers(kFullMember)) {
    mask |= member::kQueueKey | member::kTrafficClass | member::kPartitionKey | member::kServiceLevel |
            member::kFlowLabel | member::kMtuSelector | member::kMtu | member::kRateSelector | member::kRate;
  }
  return request_for(Method::Set, again, mask);
}

Mad MulticastKind::leave(const RecordBytes& record, JoinState state) const {
  McMemberRecord gone = McMemberRecord::read(view(record));
  gone.port = port_;
  gone.join_state = state;
  gone.proxy_join = false;
  return request_for(Method::Delete, gone, member::kGroup | member::kPort | member::kJoinState);
}

RecordBytes MulticastKind::record_in(const Mad& answer) const {
  return bytes_of(member_record(answer));
}

Mad MulticastKind::answer(const Mad& request, const RecordBytes& record, JoinState held) const {
  Mad mad = request;
  mad.set_method(*response_to(request.method()));
  mad.set_status(0);
  set_attribute_offset(mad, 7);  // 52 bytes, in units of 8
  McMemberRecord answer = McMemberRecord::read(view(record));
  answer.port = member_record(request).port;
  answer.join_state = held;
  answer.proxy_join = false;
  set_member_record(mad, answer);
  return mad;
}

RecordBytes MulticastKind::held(const RecordBytes& record, JoinState state) const {
  McMemberRecord own = McMemberRecord::read(view(record));
  own.port = Gid{};
  own.join_state = state;
  own.proxy_join = false;
  own.mtu_selector = own.rate_selector = own.life_time_selector = 2;
  return bytes_of(own);
}

bool MulticastKind::is_same(const RecordBytes& before, const RecordBytes& after) const {
  McMemberRecord a = McMemberRecord::read(view(before));
  const McMemberRecord b = McMemberRecord::read(view(after));
  a.port = b.port;
  a.join_state = b.join_state;
  a.proxy_join = b.proxy_join;
  a.mtu_selector = b.mtu_selector;
  a.rate_selector = b.rate_selector;
  a.life_time_selector = b.life_time_selector;
  return a == b;
}

}  // namespace rdmove::gsi
