// What the multiplexer needs of a connection manager's message: who talks to whom (IBTA volume 1, chapter 12,
// tables 106 to 120; the kernel's include/rdma/ibta_vol1_c12.h). All offsets there count from the MAD's
// byte 24. Any thread.
#pragma once

#include "shadowdev/gsi/mad.hpp"

namespace rdmove::gsi {

inline constexpr std::uint8_t kCmClassVersion = 2;

/// AttributeID of a CM MAD (12.6, 16.7.3.2).
enum class CmMessageType : std::uint16_t {
  Req = 0x10,
  Mra = 0x11,
  Rej = 0x12,
  Rep = 0x13,
  Rtu = 0x14,
  Dreq = 0x15,
  Drep = 0x16,
  SidrReq = 0x17,
  SidrRep = 0x18,
  Lap = 0x19,
  Apr = 0x1A,
};

/// The message type, or nothing: another class or method than Send, or an AttributeID that is none of these.
std::optional<CmMessageType> cm_message_type(const Mad& mad);

/// The sender's id of the connection. A SidrReq's is its RequestID; a SidrRep has none.
std::optional<CommId> local_comm_id(const Mad& mad, CmMessageType type);
void set_local_comm_id(Mad& mad, CmMessageType type, CommId id);
/// The receiver's id, as the sender knows it. Req and SidrReq have none.
std::optional<CommId> remote_comm_id(const Mad& mad, CmMessageType type);
void set_remote_comm_id(Mad& mad, CmMessageType type, CommId id);

/// Of Req (primary path) and Lap (alternate path): the sender's and the receiver's GID.
struct CmGids {
  Gid sender;
  Gid receiver;
};
std::optional<CmGids> cm_gids(const Mad& mad, CmMessageType type);

}  // namespace rdmove::gsi
