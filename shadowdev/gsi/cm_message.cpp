#include "shadowdev/gsi/cm_message.hpp"

namespace rdmove::gsi {
namespace {

constexpr std::size_t kFirst = 24;        // Local Communication ID, or a SIDR message's RequestID
constexpr std::size_t kSecond = 28;       // Remote Communication ID
constexpr std::size_t kReqSender = 80;    // Primary Local Port GID, byte 56 of the message
constexpr std::size_t kReqReceiver = 96;  // Primary Remote Port GID, byte 72
constexpr std::size_t kLapSender = 48;    // Alternate Local Port GID, byte 24
constexpr std::size_t kLapReceiver = 64;  // Alternate Remote Port GID, byte 40

}  // namespace

std::optional<CmMessageType> cm_message_type(const Mad& mad) {
  if (mad.management_class() != ManagementClass::CommunicationManagement || mad.method() != Method::Send)
    return std::nullopt;
  const std::uint16_t attribute = mad.attribute();
  if (attribute < static_cast<std::uint16_t>(CmMessageType::Req) ||
      attribute > static_cast<std::uint16_t>(CmMessageType::Apr)) {
    return std::nullopt;
  }
  return CmMessageType{attribute};
}

std::optional<CommId> local_comm_id(const Mad& mad, CmMessageType type) {
  if (type == CmMessageType::SidrRep) return std::nullopt;
  return CommId{mad.field<kFirst, std::uint32_t>()};
}

void set_local_comm_id(Mad& mad, CmMessageType type, CommId id) {
  if (type != CmMessageType::SidrRep) mad.set_field<kFirst>(static_cast<std::uint32_t>(id));
}

std::optional<CommId> remote_comm_id(const Mad& mad, CmMessageType type) {
  if (type == CmMessageType::Req || type == CmMessageType::SidrReq) return std::nullopt;
  if (type == CmMessageType::SidrRep) return CommId{mad.field<kFirst, std::uint32_t>()};
  return CommId{mad.field<kSecond, std::uint32_t>()};
}

void set_remote_comm_id(Mad& mad, CmMessageType type, CommId id) {
  if (type == CmMessageType::Req || type == CmMessageType::SidrReq) return;
  if (type == CmMessageType::SidrRep) {
    mad.set_field<kFirst>(static_cast<std::uint32_t>(id));
  } else {
    mad.set_field<kSecond>(static_cast<std::uint32_t>(id));
  }
}

std::optional<CmGids> cm_gids(const Mad& mad, CmMessageType type) {
  if (type == CmMessageType::Req)
    return CmGids{Gid(get_bytes<kReqSender, 16>(mad.bytes())), Gid(get_bytes<kReqReceiver, 16>(mad.bytes()))};
  if (type == CmMessageType::Lap)
    return CmGids{Gid(get_bytes<kLapSender, 16>(mad.bytes())), Gid(get_bytes<kLapReceiver, 16>(mad.bytes()))};
  return std::nullopt;
}

}  // namespace rdmove::gsi
