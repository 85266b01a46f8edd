// A wire in memory between devices that exist in memory only, for tests of the shadow device. Nothing moves
// by itself: step() lets one thing happen somewhere, chosen by the seed, so that a schedule can be repeated.
// Numbers of QPs and keys begin again with each device and are few (rxe starts QPs at 17 again), so that
// objects that are made again collide with what was there. Any thread: one lock for all.
//
// What it takes over from hardware and from rxe, since programs and the shadow meet it (sources at the code):
// order and PSNs of RC and UC, RNR and retry limits, access flags of the QP before keys, errors that put both
// ends in ERR, receives posted in ERR that are lost, flush completions with opcode 0 and in a moment rather
// than at once, SRQs that are not flushed, LAST_WQE_REACHED, CQs that overrun, completions that vanish with
// the QP that is destroyed.
#pragma once

#include <map>
#include <mutex>
#include <random>
#include <string>

#include "shadowdev/fakeverbs/faults.hpp"
#include "shadowdev/fakeverbs/objects.hpp"
#include "shadowdev/verbs/verbs.hpp"

namespace rdmove::shadow::fake {

/// What a surprise removal takes with it.
enum class Loss : std::uint8_t {
  Nothing,          ///< completions that were on their way are still written
  LastCompletions,  ///< what was not in the CQ yet is lost, as on hardware whose DMA has ended
};

class Fabric {
 public:
  explicit Fabric(std::uint32_t seed = 1) : random_(seed) {}
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  Device& add_device(const std::string& name, std::uint64_t guid, Limits limits = {});
  /// Planned: the name is gone from the list; it must have no open context (returns false).
  bool remove_device(const std::string& name);
  /// Unplanned: contexts stay open and nothing answers.
  void surprise_remove(const std::string& name, Loss loss);
  static ibv_gid gid_of(std::uint64_t guid);

  /// Lets one thing happen. False: nothing can happen (a sender without a receive waits, it does not spin).
  bool step();
  void run(unsigned most_steps = 1'000'000);

  Faults faults;
  bool says_last_wqe = true;  ///< rxe does not

 private:
  friend class FakeVerbs;
  friend struct DataPath;
  friend struct Wire;
  Device* find(std::string_view name);
  Device* at(const ibv_gid& gid);
  std::uint32_t free_number(Device& device);
  std::uint32_t free_key(Device& device);

  std::recursive_mutex lock_;
  std::mt19937 random_;
  std::map<std::string, std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Device>> departed_;  // of which contexts may still be open
  std::vector<Qp*> order_;                         // all QPs, in the order of their making
  std::uint16_t next_lid_ = 1;
};

/// libibverbs' control calls on the fabric's devices.
class FakeVerbs final : public Verbs {
 public:
  explicit FakeVerbs(Fabric& fabric) : fabric_(fabric) {}
  ibv_context* open(std::string_view device) override;
  int close(ibv_context* context) override;
  int device_attributes(ibv_context* context, ibv_device_attr* out) override;
  int port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* out) override;
  int gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) override;
  int gid_table(ibv_context* context, std::vector<ibv_gid_entry>* out) override;
  ibv_pd* alloc_pd(ibv_context* context) override;
  int dealloc_pd(ibv_pd* pd) override;
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) override;
  int dereg_mr(ibv_mr* mr) override;
  ibv_comp_channel* create_channel(ibv_context* context) override;
  int destroy_channel(ibv_comp_channel* channel) override;
  ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                    int vector) override;
  int destroy_cq(ibv_cq* cq) override;
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) override;
  void ack_cq_events(ibv_cq* cq, unsigned events) override;
  ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) override;
  int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) override;
  int query_srq(ibv_srq* srq, ibv_srq_attr* out) override;
  int destroy_srq(ibv_srq* srq) override;
  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) override;
  int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override;
  int query_qp(ibv_qp* qp, ibv_qp_attr* out, int mask, ibv_qp_init_attr* init_out) override;
  int destroy_qp(ibv_qp* qp) override;
  ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) override;
  int destroy_ah(ibv_ah* ah) override;
  int get_async_event(ibv_context* context, ibv_async_event* out) override;
  void ack_async_event(ibv_async_event* event) override;

 private:
  Fabric& fabric_;
};

}  // namespace rdmove::shadow::fake
