// Subscriptions at the subnet administrator and what they bring: InformInfo (IBTA volume 1, 13.4.8.3) and
// Notice (13.4.8.2; the kernel's struct ib_mad_notice_attr in include/rdma/ib_mad.h). Plain values, any
// thread.
#pragma once

#include "shadowdev/gsi/sa.hpp"

namespace rdmove::gsi {

/// What somebody wants to hear of. "All" is all bits of a field set.
struct InformInfo {
  static constexpr std::size_t kBytes = 36;
  using Bytes = std::array<std::byte, kBytes>;
  static constexpr std::uint16_t kAll = 0xFFFF;
  static constexpr std::uint32_t kAllProducers = 0xFFFFFF;

  Gid gid;  ///< not zero: only notices about this GID, and the LID range is nothing
  std::uint16_t lid_begin = kAll;
  std::uint16_t lid_end = 0;
  bool is_generic = true;
  bool is_subscribe = true;
  std::uint16_t type = kAll;
  std::uint16_t trap_or_device = kAll;     ///< a generic notice's trap number, else the vendor's device id
  QueuePairNumber queue_pair{1};           ///< that the reports go to; looked at when unsubscribing
  std::uint8_t response_time = 0;          ///< 5 bits
  std::uint32_t producer = kAllProducers;  ///< 24 bits: node type or vendor id

  static InformInfo read(std::span<const std::byte, kBytes> bytes);
  void write(std::span<std::byte, kBytes> bytes) const;
  bool operator==(const InformInfo&) const = default;
};

struct Notice {
  static constexpr std::size_t kBytes = 80;
  using Bytes = std::array<std::byte, kBytes>;

  bool is_generic = true;
  std::uint8_t type = 0;       ///< 7 bits: 0 fatal, 1 urgent, 2 security, 3 SM, 4 information
  std::uint32_t producer = 0;  ///< 24 bits
  std::uint16_t trap_or_device = 0;
  Lid issuer{};
  std::uint16_t toggle_and_count = 0;
  std::array<std::byte, 54> details{};
  Gid issuer_gid;

  static Notice read(std::span<const std::byte, kBytes> bytes);
  void write(std::span<std::byte, kBytes> bytes) const;
  bool operator==(const Notice&) const = default;

  /// Traps 64 to 67 (a GID came or went, a group was made or deleted; 14.2.5.1) name the GID
  /// that they are about after six reserved bytes. For all others the issuer's.
  [[nodiscard]] Gid about() const;
};

/// How events are forwarded: would the subnet administrator report this notice to that subscriber?
bool matches(const InformInfo& subscription, const Notice& notice);

inline InformInfo inform_info(const Mad& mad) {
  return InformInfo::read(sa_data(mad).first<InformInfo::kBytes>());
}
inline void set_inform_info(Mad& mad, const InformInfo& info) {
  info.write(sa_data(mad).first<InformInfo::kBytes>());
}
inline Notice notice(const Mad& mad) {
  return Notice::read(sa_data(mad).first<Notice::kBytes>());
}
inline void set_notice(Mad& mad, const Notice& what) {
  what.write(sa_data(mad).first<Notice::kBytes>());
}

}  // namespace rdmove::gsi
