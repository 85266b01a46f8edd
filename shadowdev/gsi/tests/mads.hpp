// MADs as functions, the subnet administrator and peers send them, and a clock that tests turn.
#pragma once

#include "shadowdev/gsi/cm_message.hpp"
#include "shadowdev/gsi/inform.hpp"
#include "shadowdev/gsi/shared_port.hpp"

namespace rdmove::gsi::test {

inline constexpr std::uint64_t kPrefix = 0xFE80000000000000;
inline constexpr Lid kSubnetManager{1};
inline constexpr Lid kPeer{9};

class FakeTime final : public Timekeeper {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void pass(milliseconds time) { now_ += time; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

inline FunctionId function(unsigned number) {
  return FunctionId{static_cast<std::uint8_t>(number)};
}
inline Gid gid_of(FunctionId function) {
  return Gid::from(kPrefix, 0x100 + static_cast<unsigned>(function));
}
inline Gid port_gid() {
  return Gid::from(kPrefix, 0xAA);
}
inline Gid peer_gid() {
  return Gid::from(kPrefix, 0xBB);
}
inline Gid group(unsigned number) {
  return Gid::from(0xFF12A01BFE800000, number);
}
inline TransactionId tid(std::uint64_t number) {
  return TransactionId{number};
}

inline PortOptions options() {
  PortOptions options;
  options.gid = port_gid();
  options.subnet_manager = kSubnetManager;
  options.seed = 7;
  return options;
}

inline Datagram to_administrator(Mad mad, TransactionId id) {
  mad.set_transaction(id);
  Datagram datagram;
  datagram.mad = mad;
  datagram.remote = kSubnetManager;
  return datagram;
}

/// A query: a PathRecord with this destination GID (15.2.5.16: ServiceID at 0, DGID at 8).
inline Datagram path_query(TransactionId id, const Gid& destination = peer_gid()) {
  Mad mad =
      Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Get, attribute::kPathRecord);
  set_component_mask(mad, 1U << 2U);
  put_bytes<kSaDataOffset + 8>(mad.bytes(), destination.bytes());
  return to_administrator(mad, id);
}

inline McMemberRecord member(FunctionId of, const Gid& group, JoinState state) {
  McMemberRecord record;
  record.group = group;
  record.port = gid_of(of);
  record.join_state = state;
  return record;
}

inline Datagram member_request(Method method, TransactionId id, const McMemberRecord& record,
                               std::uint64_t more = 0) {
  Mad mad =
      Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, method, attribute::kMcMemberRecord);
  set_component_mask(mad, member::kGroup | member::kPort | member::kJoinState | more);
  set_member_record(mad, record);
  return to_administrator(mad, id);
}
inline Datagram join(FunctionId of, TransactionId id, const Gid& group, JoinState state = kFullMember) {
  return member_request(Method::Set, id, member(of, group, state));
}
inline Datagram leave(FunctionId of, TransactionId id, const Gid& group, JoinState state = kFullMember) {
  return member_request(Method::Delete, id, member(of, group, state));
}

inline Datagram inform_request(TransactionId id, InformInfo info) {
  Mad mad =
      Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Set, attribute::kInformInfo);
  set_inform_info(mad, info);
  return to_administrator(mad, id);
}
inline InformInfo for_trap(std::uint16_t trap) {
  InformInfo info;
  info.trap_or_device = trap;
  info.type = 3;
  info.producer = 4;
  return info;
}
inline InformInfo unsubscribed(InformInfo info) {
  info.is_subscribe = false;
  return info;
}

/// Trap 64: a GID is in service.
inline Notice gid_in_service(const Gid& gid) {
  Notice notice;
  notice.type = 3;
  notice.producer = 4;
  notice.trap_or_device = 64;
  notice.issuer = kSubnetManager;
  std::copy(gid.bytes().begin(), gid.bytes().end(), notice.details.begin() + 6);
  notice.issuer_gid = Gid::from(kPrefix, 1);
  return notice;
}
inline Datagram report(TransactionId id, const Notice& what) {
  Mad mad =
      Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Report, attribute::kNotice);
  set_notice(mad, what);
  return to_administrator(mad, id);
}

/// What the administrator answers, with the record as it is to be.
inline Datagram granted(const Datagram& request, const McMemberRecord& record) {
  Datagram answer = answer_to(request, request.mad);
  answer.mad.set_method(*response_to(request.mad.method()));
  set_member_record(answer.mad, record);
  return answer;
}
inline Datagram granted(const Datagram& request) {
  McMemberRecord record = member_record(request.mad);
  if (record.multicast_lid == 0) record.multicast_lid = 0xC001;
  return granted(request, record);
}
inline Datagram accepted(const Datagram& request) {
  Datagram answer = answer_to(request, request.mad);
  answer.mad.set_method(*response_to(request.mad.method()));
  return answer;
}
inline Datagram refused(const Datagram& request, SaStatus status) {
  return answer_to(request, refusal_of(request.mad, status));
}

inline Datagram cm(CmMessageType type, CommId local, CommId remote = CommId{0}) {
  Mad mad = Mad::make(ManagementClass::CommunicationManagement, kCmClassVersion, Method::Send,
                      static_cast<std::uint16_t>(type));
  mad.set_field<24>(static_cast<std::uint32_t>(local));
  if (type != CmMessageType::Req && type != CmMessageType::SidrReq && type != CmMessageType::SidrRep)
    mad.set_field<28>(static_cast<std::uint32_t>(remote));
  Datagram datagram;
  datagram.mad = mad;
  datagram.remote = kPeer;
  return datagram;
}
inline Datagram req(CommId local, const Gid& sender, const Gid& receiver) {
  Datagram datagram = cm(CmMessageType::Req, local);
  put_bytes<80>(datagram.mad.bytes(), sender.bytes());
  put_bytes<96>(datagram.mad.bytes(), receiver.bytes());
  return datagram;
}
inline Datagram with_grh(Datagram datagram, const Gid& source, const Gid& destination) {
  datagram.grh = Grh{source, destination, 0, 0, 64};
  return datagram;
}
inline CommId first_comm_id(const Datagram& datagram) {
  return CommId{datagram.mad.field<24, std::uint32_t>()};
}
inline CommId second_comm_id(const Datagram& datagram) {
  return CommId{datagram.mad.field<28, std::uint32_t>()};
}

}  // namespace rdmove::gsi::test
