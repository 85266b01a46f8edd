// What the subnet administrator's MADs carry beyond the common header (IBTA volume 1, 15.2; the kernel's
// struct ib_sa_mad in include/rdma/ib_mad.h), and the record of a multicast membership. Plain values, any
// thread.
#pragma once

#include "shadowdev/gsi/mad.hpp"

namespace rdmove::gsi {

inline constexpr std::uint8_t kSaClassVersion = 2;
inline constexpr std::size_t kSaDataOffset = 56;
inline constexpr std::size_t kSaDataBytes = 200;

/// AttributeID (15.2.5).
namespace attribute {
inline constexpr std::uint16_t kClassPortInfo = 0x01;
inline constexpr std::uint16_t kNotice = 0x02;
inline constexpr std::uint16_t kInformInfo = 0x03;
inline constexpr std::uint16_t kGuidInfoRecord = 0x30;
inline constexpr std::uint16_t kServiceRecord = 0x31;
inline constexpr std::uint16_t kPathRecord = 0x35;
inline constexpr std::uint16_t kMcMemberRecord = 0x38;
}  // namespace attribute

/// Status of an SA answer: class-specific codes are in the upper byte (15.2), the common ones (13.4.7) in the
/// lower.
enum class SaStatus : std::uint16_t {
  Success = 0,
  Busy = 0x0001,
  NoResources = 0x0100,
  RequestInvalid = 0x0200,
  NoRecords = 0x0300,
  TooManyRecords = 0x0400,
  InvalidGid = 0x0500,
  InsufficientComponents = 0x0600,
  RequestDenied = 0x0700,
};

/// Sends no record: the request as it was, with the answer's method and this status.
Mad refusal_of(const Mad& request, SaStatus status);

// 15.2.1.1: the RMPP header at 24, then SM_Key, AttributeOffset, ComponentMask, data.
inline std::uint64_t component_mask(const Mad& mad) {
  return mad.field<48, std::uint64_t>();
}
inline void set_component_mask(Mad& mad, std::uint64_t mask) {
  mad.set_field<48>(mask);
}
/// In units of 8 bytes.
inline void set_attribute_offset(Mad& mad, std::uint16_t offset) {
  mad.set_field<44>(offset);
}
inline std::span<const std::byte, kSaDataBytes> sa_data(const Mad& mad) {
  return mad.bytes().subspan<kSaDataOffset, kSaDataBytes>();
}
inline std::span<std::byte, kSaDataBytes> sa_data(Mad& mad) {
  return mad.bytes().subspan<kSaDataOffset, kSaDataBytes>();
}

/// RMPP header (13.6.2.1): an exchange that takes more than one MAD each way.
namespace rmpp {
inline constexpr std::uint8_t kData = 1;
inline constexpr std::uint8_t kAcknowledge = 2;
inline constexpr std::uint8_t kStop = 3;
inline constexpr std::uint8_t kAbort = 4;
inline bool is_class_with(ManagementClass of) {
  return of == ManagementClass::SubnetAdministration;
}
inline bool is_active(const Mad& mad) {
  return is_class_with(mad.management_class()) && (mad.field<26, std::uint8_t>() & 0x01U) != 0;
}
inline bool is_last(const Mad& mad) {
  return (mad.field<26, std::uint8_t>() & 0x04U) != 0;
}
inline std::uint8_t type(const Mad& mad) {
  return mad.field<25, std::uint8_t>();
}
}  // namespace rmpp

/// MCMemberRecord (15.2.5.17); the kernel's mcmember_rec_table in drivers/infiniband/core/sa_query.c.
struct McMemberRecord {
  static constexpr std::size_t kBytes = 52;
  using Bytes = std::array<std::byte, kBytes>;

  Gid group;
  Gid port;
  std::uint32_t queue_key = 0;
  std::uint16_t multicast_lid = 0;
  std::uint8_t mtu_selector = 0;  ///< 0 greater than, 1 less than, 2 exactly, 3 largest
  std::uint8_t mtu = 0;           ///< 1 to 5: 256 to 4096 bytes
  std::uint8_t traffic_class = 0;
  std::uint16_t partition_key = 0;
  std::uint8_t rate_selector = 0;
  std::uint8_t rate = 0;
  std::uint8_t life_time_selector = 0;
  std::uint8_t life_time = 0;  ///< 4.096 µs * 2^n
  std::uint8_t service_level = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t scope = 0;
  JoinState join_state;
  bool proxy_join = false;

  static McMemberRecord read(std::span<const std::byte, kBytes> bytes);
  void write(std::span<std::byte, kBytes> bytes) const;
  bool operator==(const McMemberRecord&) const = default;
};

/// Bits of ComponentMask for MCMemberRecord.
namespace member {
inline constexpr std::uint64_t kGroup = 1U << 0U;
inline constexpr std::uint64_t kPort = 1U << 1U;
inline constexpr std::uint64_t kQueueKey = 1U << 2U;
inline constexpr std::uint64_t kMulticastLid = 1U << 3U;
inline constexpr std::uint64_t kMtuSelector = 1U << 4U;
inline constexpr std::uint64_t kMtu = 1U << 5U;
inline constexpr std::uint64_t kTrafficClass = 1U << 6U;
inline constexpr std::uint64_t kPartitionKey = 1U << 7U;
inline constexpr std::uint64_t kRateSelector = 1U << 8U;
inline constexpr std::uint64_t kRate = 1U << 9U;
inline constexpr std::uint64_t kLifeTimeSelector = 1U << 10U;
inline constexpr std::uint64_t kLifeTime = 1U << 11U;
inline constexpr std::uint64_t kServiceLevel = 1U << 12U;
inline constexpr std::uint64_t kFlowLabel = 1U << 13U;
inline constexpr std::uint64_t kHopLimit = 1U << 14U;
inline constexpr std::uint64_t kScope = 1U << 15U;
inline constexpr std::uint64_t kJoinState = 1U << 16U;
inline constexpr std::uint64_t kProxyJoin = 1U << 17U;
}  // namespace member

inline McMemberRecord member_record(const Mad& mad) {
  return McMemberRecord::read(sa_data(mad).first<McMemberRecord::kBytes>());
}
inline void set_member_record(Mad& mad, const McMemberRecord& record) {
  record.write(sa_data(mad).first<McMemberRecord::kBytes>());
}

}  // namespace rdmove::gsi
