// What the provider in memory keeps behind the structs that verbs.h shows to programs. Owned by the fabric,
// touched under its lock only.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rdmove::shadow::fake {

class Fabric;
struct Device;
struct Qp;

struct Context : verbs_context {
  Device* device = nullptr;
  std::deque<ibv_async_event> events;
  unsigned children = 0;
  static Context* of(ibv_context* context) { return static_cast<Context*>(verbs_get_ctx(context)); }
};

struct Pd : ibv_pd {
  unsigned children = 0;
};

struct Mr : ibv_mr {
  std::uint64_t iova = 0;
  unsigned access = 0;
  [[nodiscard]] bool covers(std::uint64_t from, std::uint64_t bytes) const {
    return from >= iova && bytes <= length && from - iova <= length - bytes;
  }
  [[nodiscard]] std::byte* at(std::uint64_t from) const {
    return static_cast<std::byte*>(addr) + (from - iova);
  }
};

struct Channel : ibv_comp_channel {
  std::deque<struct Cq*> events;
};

enum class Armed : std::uint8_t { No, Solicited, Any };

struct Cq : ibv_cq {
  std::deque<ibv_wc> ready;
  Armed armed = Armed::No;
  bool overrun = false;
  unsigned unacknowledged = 0;
  unsigned users = 0;
};

struct Receive {
  std::uint64_t wr_id = 0;
  std::vector<ibv_sge> to;
};

struct Srq : ibv_srq {
  std::deque<Receive> posted;
  ibv_srq_attr attributes{};
  unsigned users = 0;
};

struct Ah : ibv_ah {
  ibv_ah_attr attributes{};
};

/// A send work request from its post to its acknowledgement.
struct Request {
  ibv_send_wr wr{};  ///< its pointers are not used
  std::vector<ibv_sge> from;
  std::vector<std::byte> inlined;
  ibv_ah_attr to{};  ///< UD
  bool signalled = false;
  std::uint32_t psn = 0;
  std::uint32_t packets = 1;
  std::uint64_t length = 0;
  bool executed = false;
  std::vector<std::byte> answer;  ///< READ and atomics: on its way back
};

/// Something that has happened at a QP and is not seen yet: the hardware writes it a moment later.
struct Late {
  ibv_wc wc{};
  bool to_send_cq = false;
  bool solicited = false;
  bool last_wqe_reached = false;  ///< the event instead of a completion
};

struct Qp : ibv_qp {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  std::deque<Request> sends;
  std::deque<Receive> receives;
  std::deque<Late> late;
  std::uint32_t post_psn = 0;  ///< of the next request that is posted
  std::uint32_t sent_psn = 0;  ///< of the next packet to be sent: query_qp's sq_psn, as rxe has it
  std::uint32_t expected_psn = 0;
  unsigned retries = 0;
  unsigned rnr_retries = 0;
};

struct Limits {
  int max_qp_wr = 1024;
  int max_cqe = 16384;
  int max_qp = 65536;
  std::uint32_t max_inline = 256;
};

/// A device with one port, whose only GID is at index 0.
struct Device {
  Fabric* fabric = nullptr;
  ibv_device shown{};
  ibv_gid gid{};
  std::uint32_t gid_index = 0;  ///< where paths have to say that it is
  std::uint16_t lid = 0;
  Limits limits;
  bool present = true;  ///< in the list of devices
  bool dead = false;    ///< removed by surprise: contexts remain, nothing answers
  std::unordered_map<std::uint32_t, Qp*> qps;
  std::unordered_map<std::uint32_t, Mr*> mrs;
  std::unordered_set<Context*> contexts;
};

inline Device& device_of(ibv_context* context) {
  return *Context::of(context)->device;
}

}  // namespace rdmove::shadow::fake
