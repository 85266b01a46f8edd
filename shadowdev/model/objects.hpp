// The state of a process' RDMA objects as plain data: what the shadow device holds, for snapshots, the
// inspector and tests. docs/qp-state.md says what of RDMA is in here and what is not. Enumerations have the
// numbers of verbs.h and of snapshots: never renumber. Plain values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmove::shadow::model {

/// Of an object in one snapshot; 0 is none. What refers to an object has the higher id.
enum class ObjectId : std::uint32_t {};
inline constexpr ObjectId kNone{0};
enum class QueuePairNumber : std::uint32_t {};       ///< 24 bits
enum class PacketSequenceNumber : std::uint32_t {};  ///< 24 bits
enum class MemoryKey : std::uint32_t {};
enum class Epoch : std::uint32_t {};  ///< how often one end of a connection has moved
using Gid = std::array<std::uint8_t, 16>;

enum class Presence : std::uint8_t { Live = 0, Parked = 1, Lost = 2 };
enum class QpType : std::uint8_t { Rc = 2, Uc = 3, Ud = 4 };
enum class QpState : std::uint8_t { Reset = 0, Init = 1, Rtr = 2, Rts = 3, Sqd = 4, Sqe = 5, Err = 6 };
/// Where a QP is on its way through a move.
enum class Phase : std::uint8_t { Direct = 0, Translated = 1, Held = 2, Frozen = 3, Parked = 4, Waiting = 5 };
enum class Armed : std::uint8_t { No = 0, Solicited = 1, Any = 2 };

struct Context {
  ObjectId id{};
  std::string device;  ///< its kernel name
  Gid gid{};
  Presence presence = Presence::Live;
  std::uint32_t moves = 0;
  bool operator==(const Context&) const = default;
};

struct ProtectionDomain {
  ObjectId id{};
  ObjectId context{};
  bool operator==(const ProtectionDomain&) const = default;
};

struct MemoryRegion {
  ObjectId id{};
  ObjectId pd{};
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t iova = 0;
  std::uint32_t access = 0;
  MemoryKey lkey{};  ///< as the program knows it
  MemoryKey rkey{};
  MemoryKey physical_lkey{};
  MemoryKey physical_rkey{};
  bool operator==(const MemoryRegion&) const = default;
};

struct CompletionChannel {
  ObjectId id{};
  ObjectId context{};
  std::uint32_t pending_events = 0;
  bool operator==(const CompletionChannel&) const = default;
};

/// Harvested, and not polled by the program yet.
struct Completion {
  std::uint64_t wr_id = 0;
  std::uint32_t status = 0;
  std::uint32_t opcode = 0;
  std::uint32_t byte_len = 0;
  std::uint32_t immediate = 0;
  QueuePairNumber number{};
  QueuePairNumber source{};
  std::uint32_t flags = 0;
  bool operator==(const Completion&) const = default;
};

struct CompletionQueue {
  ObjectId id{};
  ObjectId context{};
  ObjectId channel{};  ///< or none
  std::uint32_t entries = 0;
  Armed armed = Armed::No;
  std::vector<Completion> backlog;
  bool operator==(const CompletionQueue&) const = default;
};

struct ScatterEntry {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  MemoryKey lkey{};
  bool operator==(const ScatterEntry&) const = default;
};

struct Receive {
  std::uint64_t wr_id = 0;
  std::vector<ScatterEntry> to;
  bool operator==(const Receive&) const = default;
};

struct SharedReceiveQueue {
  ObjectId id{};
  ObjectId pd{};
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t limit = 0;
  std::vector<Receive> receives;
  bool operator==(const SharedReceiveQueue&) const = default;
};

/// Where packets go: ibv_ah_attr.
struct Path {
  Gid destination{};
  std::uint16_t lid = 0;
  std::uint8_t source_gid_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t port = 0;
  std::uint8_t static_rate = 0;
  std::uint8_t source_path_bits = 0;
  bool is_global = false;
  bool operator==(const Path&) const = default;
};

struct AddressHandle {
  ObjectId id{};
  ObjectId pd{};
  Path path;
  bool operator==(const AddressHandle&) const = default;
};

/// A send that the program has posted and the device has not seen.
struct Send {
  std::uint64_t wr_id = 0;
  std::uint32_t opcode = 0;
  std::uint32_t flags = 0;
  std::uint32_t immediate = 0;  ///< or the key to invalidate
  std::uint64_t remote_address = 0;
  MemoryKey rkey{};
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  ObjectId ah{};  ///< UD
  QueuePairNumber remote_number{};
  std::uint32_t remote_qkey = 0;
  std::vector<ScatterEntry> from;
  std::vector<std::uint8_t> inlined;
  bool operator==(const Send&) const = default;
};

struct QueuePair {
  ObjectId id{};
  ObjectId pd{};
  ObjectId send_cq{};
  ObjectId recv_cq{};
  ObjectId srq{};  ///< or none
  QpType type = QpType::Rc;
  QpState state = QpState::Reset;
  Phase phase = Phase::Direct;
  QueuePairNumber number{};  ///< as the program knows it
  QueuePairNumber physical_number{};
  std::uint32_t max_send_wr = 0, max_recv_wr = 0, max_send_sge = 0, max_recv_sge = 0, max_inline = 0;
  bool signals_all = false;
  std::uint32_t access = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 0;
  std::uint32_t qkey = 0;
  std::uint8_t path_mtu = 0, timeout = 0, retry_count = 0, rnr_retry = 0, min_rnr_timer = 0;
  std::uint8_t max_rd_atomic = 0, max_dest_rd_atomic = 0;
  PacketSequenceNumber send_psn{};
  PacketSequenceNumber receive_psn{};
  Path path;
  QueuePairNumber peer_number{};  ///< as the program knows it
  QueuePairNumber peer_physical_number{};
  Epoch epoch{};
  Epoch peer_epoch{};
  std::vector<Send> held;
  std::vector<Receive> receives;  ///< posted and not consumed; known while it is parked
  bool operator==(const QueuePair&) const = default;
};

/// What programs see of a connection of the kernel's RDMA CM that was retired.
struct CmShell {
  ObjectId id{};
  ObjectId qp{};
  std::uint8_t state = 0;
  bool disconnect_pending = false;
  bool operator==(const CmShell&) const = default;
};

/// Everything of one process.
struct Process {
  std::vector<Context> contexts;
  std::vector<ProtectionDomain> pds;
  std::vector<MemoryRegion> regions;
  std::vector<CompletionChannel> channels;
  std::vector<CompletionQueue> cqs;
  std::vector<SharedReceiveQueue> srqs;
  std::vector<AddressHandle> ahs;
  std::vector<QueuePair> qps;
  std::vector<CmShell> shells;
  bool operator==(const Process&) const = default;
};

}  // namespace rdmove::shadow::model
