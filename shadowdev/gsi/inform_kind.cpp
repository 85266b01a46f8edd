#include "shadowdev/gsi/record_kind.hpp"

namespace rdmove::gsi {
namespace {

/// A subscription is there or not: one bit.
constexpr JoinState kSubscribed{1};

Mad set_inform(const InformInfo& info) {
  Mad mad =
      Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Set, attribute::kInformInfo);
  set_inform_info(mad, info);
  return mad;
}

/// Without what is the subscriber's own affair.
InformInfo plain(InformInfo info) {
  info.is_subscribe = true;
  info.queue_pair = kGeneralServicesQueuePair;
  info.response_time = 0;
  return info;
}

}  // namespace

RecordBytes InformKind::record(const InformInfo& info) {
  RecordBytes bytes{};
  info.write(std::span<std::byte, sizeof(RecordBytes)>(bytes).first<InformInfo::kBytes>());
  return bytes;
}

InformInfo InformKind::info(const RecordBytes& record) {
  return InformInfo::read(
      std::span<const std::byte, sizeof(RecordBytes)>(record).first<InformInfo::kBytes>());
}

tl::expected<Wanted, SaStatus> InformKind::read(const Mad& request, const std::vector<Gid>&) const {
  // The byte, not the flag: values above 1 are undefined.
  if (request.field<kSaDataOffset + 23, std::uint8_t>() > 1) return tl::unexpected(SaStatus::RequestInvalid);
  const InformInfo info = inform_info(request);
  return Wanted{key_of(record(info)), kSubscribed, info.is_subscribe, false};
}

RecordKey InformKind::key_of(const RecordBytes& record) const {
  RecordKey key{};
  plain(info(record)).write(key);
  return key;
}

SaStatus InformKind::check(const RecordBytes&, const Mad&) const {
  return SaStatus::Success;
}

Mad InformKind::join(const Mad& request) const {
  return set_inform(plain(inform_info(request)));
}

Mad InformKind::rejoin(const RecordBytes& record, JoinState) const {
  return set_inform(plain(info(record)));
}

Mad InformKind::leave(const RecordBytes& record, JoinState) const {
  InformInfo gone = plain(info(record));
  gone.is_subscribe = false;
  return set_inform(gone);
}

RecordBytes InformKind::record_in(const Mad& answer) const {
  return record(plain(inform_info(answer)));
}

Mad InformKind::answer(const Mad& request, const RecordBytes&, JoinState) const {
  Mad mad = request;
  mad.set_method(Method::GetResp);
  mad.set_status(0);
  return mad;
}

RecordBytes InformKind::held(const RecordBytes& record, JoinState) const {
  return InformKind::record(plain(info(record)));
}

bool InformKind::is_same(const RecordBytes& before, const RecordBytes& after) const {
  return key_of(before) == key_of(after);
}

}  // namespace rdmove::gsi
