// A management datagram: 256 bytes, and the header that all classes share (IBTA volume 1, 13.4.3; the
// kernel's struct ib_mad_hdr in include/rdma/ib_mad.h). A Mad holds what somebody else has written: every
// field can have every value. Plain values, any thread.
#pragma once

#include <optional>
#include <span>

#include "shadowdev/gsi/bytes.hpp"
#include "shadowdev/gsi/types.hpp"

namespace rdmove::gsi {

/// MgmtClass (13.4.4). Others exist.
enum class ManagementClass : std::uint8_t {
  SubnetLidRouted = 0x01,
  SubnetAdministration = 0x03,
  Performance = 0x04,
  DeviceManagement = 0x06,
  CommunicationManagement = 0x07,
  SubnetDirectedRoute = 0x81,
};

/// Method (13.4.5), with the subnet administrator's (15.2.2). Bit 7 says "response".
enum class Method : std::uint8_t {
  Get = 0x01,
  Set = 0x02,
  Send = 0x03,
  Trap = 0x05,
  Report = 0x06,
  TrapRepress = 0x07,
  GetTable = 0x12,
  GetTraceTable = 0x13,
  GetMulti = 0x14,
  Delete = 0x15,
  GetResp = 0x81,
  ReportResp = 0x86,
  GetTableResp = 0x92,
  GetMultiResp = 0x94,
  DeleteResp = 0x95,
};

/// What answers this method, or nothing if it expects no answer. Set and Get are both answered by GetResp,
/// GetTraceTable by GetTableResp.
std::optional<Method> response_to(Method request);
inline bool is_response(Method method) {
  return (static_cast<std::uint8_t>(method) & 0x80U) != 0;
}

class Mad {
 public:
  static constexpr std::size_t kBytes = 256;

  /// Nothing unless it is 256 bytes with base version 1 (13.4.3).
  static std::optional<Mad> from(std::span<const std::byte> bytes);
  /// A header with base version 1; all else zero.
  static Mad make(ManagementClass of, std::uint8_t class_version, Method method, std::uint16_t attribute);

  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte, kBytes> bytes() { return bytes_; }

  template <std::size_t Offset, std::unsigned_integral T>
  [[nodiscard]] T field() const {
    return get<Offset, T>(bytes());
  }
  template <std::size_t Offset, std::unsigned_integral T>
  void set_field(T value) {
    put<Offset, T>(bytes(), value);
  }

  [[nodiscard]] std::uint8_t base_version() const { return field<0, std::uint8_t>(); }
  [[nodiscard]] ManagementClass management_class() const { return ManagementClass{field<1, std::uint8_t>()}; }
  [[nodiscard]] std::uint8_t class_version() const { return field<2, std::uint8_t>(); }
  [[nodiscard]] Method method() const { return Method{field<3, std::uint8_t>()}; }
  void set_method(Method method) { set_field<3>(static_cast<std::uint8_t>(method)); }
  [[nodiscard]] std::uint16_t status() const { return field<4, std::uint16_t>(); }
  void set_status(std::uint16_t status) { set_field<4>(status); }
  [[nodiscard]] TransactionId transaction() const { return TransactionId{field<8, std::uint64_t>()}; }
  void set_transaction(TransactionId id) { set_field<8>(static_cast<std::uint64_t>(id)); }
  [[nodiscard]] std::uint16_t attribute() const { return field<16, std::uint16_t>(); }
  [[nodiscard]] std::uint32_t attribute_modifier() const { return field<20, std::uint32_t>(); }

  bool operator==(const Mad&) const = default;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// Global route header (8.3): what of it says who talks to whom.
struct Grh {
  Gid source;
  Gid destination;
  std::uint32_t flow_label = 0;  ///< 20 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  bool operator==(const Grh&) const = default;
};

/// A MAD on its way: what a queue pair of the port (or of a function) sends or has received.
struct Datagram {
  Mad mad;
  QueuePairNumber queue_pair = kGeneralServicesQueuePair;  ///< on this side: 0 (SMI) or 1 (GSI)
  QueuePairNumber remote_queue_pair = kGeneralServicesQueuePair;
  Lid remote{};  ///< where it goes, or where it came from
  std::uint8_t service_level = 0;
  std::uint16_t partition_key = 0xFFFF;
  std::optional<Grh> grh;
  bool operator==(const Datagram&) const = default;
};

/// The way back of an answer: same queue pairs and remote, the GRH turned round.
Datagram answer_to(const Datagram& received, const Mad& answer);

}  // namespace rdmove::gsi
