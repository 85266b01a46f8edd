// A random verbs program between two ends, and what it has seen: whatever the schedule, each queue has to
// show the same completions in the same order, and memory has to be the same in the end. Slots of writes are
// used again, so that a request that runs twice changes memory.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "shadowdev/verbs/verbs.hpp"

namespace rdmove::shadow::test {

enum class Op : std::uint8_t { Send, SendImm, Write, WriteImm, Read, Add, Swap };

struct Item {
  Op op = Op::Send;
  std::uint32_t length = 0;
  bool signalled = true;
  bool inlined = false;
  unsigned slot = 0;
};

/// What one QP of one end sends; the other end's receives follow from it.
struct Stream {
  std::vector<Item> items;
  std::size_t receives = 0;  ///< that it needs at the other end
};

struct Plan {
  std::uint32_t seed = 0;
  unsigned pairs = 1;
  unsigned depth = 4;
  bool shared[2] = {};             ///< an SRQ for all QPs of this end
  bool one_cq[2] = {};             ///< for sends and receives
  std::vector<bool> flagless;      ///< pair without access flags: only sends
  std::vector<Stream> streams[2];  ///< of each end, by pair
  static Plan random(std::uint32_t seed);
};

/// A completion without what a schedule may change.
struct Seen {
  std::uint64_t wr_id = 0;
  int status = 0;
  int opcode = 0;
  std::uint32_t byte_len = 0;
  std::uint32_t immediate = 0;
  std::uint64_t content = 0;
  bool operator==(const Seen&) const = default;
};

class Side {
 public:
  Side(Verbs& verbs, const std::string& device, const Plan& plan, unsigned end);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  static void connect(Side& a, Side& b);

  void act(std::mt19937& random);  ///< posts or polls something
  void poll();
  [[nodiscard]] bool complete() const;
  [[nodiscard]] std::string missing() const;
  /// Whether the memory that `sender` writes to is as after its first requests in order, each once, and at
  /// least those whose success it has seen.
  [[nodiscard]] bool is_as_after_some_of(const Side& sender, unsigned pair) const;
  /// What is left out of the plan by requests that failed: each that asks for a completion has one, in order.
  [[nodiscard]] std::string unanswered(unsigned pair, bool receives_too) const;
  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] const std::vector<std::byte>& memory() const { return memory_; }

  struct Queue {
    ibv_qp* qp = nullptr;
    std::size_t sent = 0;    ///< items that were posted
    std::size_t acked = 0;   ///< items of which the end is known
    std::size_t posted = 0;  ///< receives
    std::vector<Seen> sends;
    std::vector<Seen> receives;
  };
  std::vector<Queue> queues;
  std::set<std::uint64_t> shared_taken;  ///< wr_ids of the SRQ
  std::size_t shared_posted = 0;
  std::size_t shared_seen = 0;
  bool failed = false;  ///< a completion was no success: the program posts nothing more

 private:
  void post_send(unsigned pair);
  void post_receive(unsigned pair);
  void note(const ibv_wc& wc, bool may_be_send, bool may_be_receive);
  [[nodiscard]] std::size_t source(unsigned pair, std::size_t item) const;
  [[nodiscard]] std::size_t receive_slot(unsigned pair, std::size_t number) const;
  [[nodiscard]] std::size_t ring_slot(unsigned pair, unsigned slot) const;
  [[nodiscard]] std::size_t counter(unsigned pair, unsigned slot) const;
  [[nodiscard]] std::size_t needed(unsigned pair) const;
  [[nodiscard]] std::uint64_t address(std::size_t offset) const;

  Verbs& verbs_;
  const Plan& plan_;
  unsigned end_;
  const Side* other_ = nullptr;
  ibv_gid gid_{};
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_cq* send_cq_ = nullptr;
  ibv_cq* recv_cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  std::vector<std::byte> memory_;
};

}  // namespace rdmove::shadow::test
