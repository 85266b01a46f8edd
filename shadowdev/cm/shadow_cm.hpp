// RDMA CM made of software: librdmacm's calls on virtual ids, which stay valid while the kernel's connections
// behind them end. It stands on librdmacm, whose own calls of verbs reach the shadow device, so a QP that it
// makes and connects is a virtual one. Any thread; a process has one of it. Results and errno as librdmacm's.
//
//   ShadowCm cm(verbs, librdmacm's calls);   // sets itself as the engine's connections
//
// A connection is made by the kernel. At its first move the kernel forgets it at both ends, first out of the
// program's sight (bury), then for good (retire); it is never made again there. Lock order: an id's call, its
// channel's reading, the engine's control, `lock_`, a channel's lock.
#pragma once

#include <condition_variable>
#include <memory>
#include <unordered_map>
#include <utility>

#include "shadowdev/cm/objects.hpp"
#include "shadowdev/device/connections.hpp"
#include "shadowdev/device/shadow_verbs.hpp"

namespace rdmove::shadow {

class ShadowCm final : public Connections {
 public:
  /// `looks_every`: how often a connection that has moved is asked for, since no kernel says that the program
  /// at its other end was killed.
  ShadowCm(ShadowVerbs& verbs, const CmCalls& real,
           std::chrono::milliseconds looks_every = std::chrono::seconds(5));
  ~ShadowCm() override;

  /// Null: not one of ours, so librdmacm's own, or a stranger.
  VirtualId* ours(const rdma_cm_id* id);
  CmChannel* ours(const rdma_event_channel* channel);

  // ids.cpp
  rdma_event_channel* create_channel();
  void destroy_channel(CmChannel& channel);
  int create_id(rdma_event_channel* channel, rdma_cm_id** out, void* context, rdma_port_space space);
  int create_ep(rdma_cm_id** out, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* init);
  int destroy_id(VirtualId& id);
  void destroy_ep(VirtualId& id);
  int migrate_id(VirtualId& id, rdma_event_channel* channel);
  void destroy_qp(VirtualId& id);
  void destroy_srq(VirtualId& id);
  int set_option(VirtualId& id, int level, int name, void* value, std::size_t size);
  /// Any call that needs nothing of ours: `call` gets librdmacm's id.
  template <class Call>
  int forward(VirtualId& id, Call&& call);

  // connecting.cpp
  int bind_addr(VirtualId& id, sockaddr* address);
  int resolve_addr(VirtualId& id, sockaddr* from, sockaddr* to, int milliseconds);
  int resolve_route(VirtualId& id, int milliseconds);
  int listen(VirtualId& id, int backlog);
  int get_request(VirtualId& listener, rdma_cm_id** out);
  int connect(VirtualId& id, rdma_conn_param* parameters);
  int accept(VirtualId& id, rdma_conn_param* parameters);
  int establish(VirtualId& id);
  int reject(VirtualId& id, const void* data, std::uint8_t size, decltype(&::rdma_reject) call);
  int disconnect(VirtualId& id);
  /// librdmacm's own ids as well: its path is in the device's numbers, programs have others.
  static int init_qp_attr(const CmCalls& real, rdma_cm_id* physical, ibv_qp_attr* attr, int* mask);

  // events.cpp
  int get_event(CmChannel& channel, rdma_cm_event** out);
  /// False: not one of ours.
  bool acknowledge(rdma_cm_event* event);

  // moving.cpp
  int bury(const VirtualQp& qp) override;
  void exhume(const VirtualQp& qp) override;
  int retire(const VirtualQp& qp) override;
  void ended(const VirtualQp& qp) override;
  void destroyed(const VirtualQp& qp) override;
  int leave(const VirtualContext& context) override;
  void close_gate() override;
  void open_gate() override;
  bool is_settled() override;
  void tend() override;
  bool come_back() override;

 private:
  enum class Told : std::uint8_t { Yes, Later };

  /// Keeps an id from being deleted; its destruction waits as for an acknowledgement.
  struct Unpin {
    ShadowCm* cm = nullptr;
    void operator()(VirtualId* id) const { cm->unpin(*id); }
  };
  using Pinned = std::unique_ptr<VirtualId, Unpin>;

  Pinned pin(VirtualId* id);  ///< with `lock_`
  void unpin(VirtualId& id);
  CmChannel* channel_of(rdma_event_channel* physical, bool own);
  void drop_channel(CmChannel* channel);
  void watch(CmChannel& channel, rdma_event_channel* physical);
  VirtualId* adopt(rdma_cm_id* physical, CmChannel* channel, void* context);
  Pinned id_of(const rdma_cm_id* physical);
  Pinned id_of(const VirtualQp& qp);
  std::vector<Pinned> all();
  static void to_physical(VirtualId& id);
  static void show(VirtualId& id);
  void take_physical(VirtualId& id, rdma_cm_id* physical);
  rdma_cm_id* give_physical(VirtualId& id);
  int revive(VirtualId& id);
  int listen_again(VirtualId& id);
  rdma_cm_id* make_like(VirtualId& id);
  void wait_at_gate();

  bool read_one(CmChannel& channel, int& error);
  std::unique_ptr<CmEvent> take(rdma_cm_event* physical, CmChannel& channel);
  void push(CmChannel& channel, std::unique_ptr<CmEvent> event);
  void raise(VirtualId& id, rdma_cm_event_type type, int status);
  static std::vector<std::unique_ptr<CmEvent>> events_of(const VirtualId& id);

  rdma_event_channel* graveyard();
  int hide(VirtualId& id);
  int bury_for_good(VirtualId& id);
  void collect();
  void bring_back(VirtualId& id);
  void destroy_graves();
  void say_goodbye(VirtualId& id);
  bool data_is_through(const VirtualId& id);
  void say_farewells();
  void look_for_peers();
  std::optional<Farewell> farewell_of(const VirtualId& id);
  static Farewell farewell_of(const VirtualQp& qp);
  VirtualQp* qp_of(const VirtualId& id);  ///< with the control lock
  Told tell(const Farewell& farewell);

  ShadowVerbs& verbs_;
  Engine& engine_;
  const CmCalls& real_;
  const std::chrono::milliseconds looks_every_;

  std::mutex lock_;
  std::condition_variable changed_;  ///< an acknowledgement, the gate, a synchronous id's end
  std::vector<VirtualId*> ids_;
  std::vector<CmChannel*> channels_;
  std::unordered_map<const rdma_cm_id*, VirtualId*> by_physical_;
  std::unordered_map<const rdma_cm_event*, std::unique_ptr<CmEvent>> shown_;
  rdma_event_channel* graveyard_ = nullptr;           ///< of ids whose events nobody is to see
  std::vector<std::pair<rdma_cm_id*, bool>> graves_;  ///< whether rdma_create_ep() has made it passive
  std::vector<std::pair<Farewell, std::chrono::steady_clock::time_point>> farewells_;
  bool gate_closed_ = false;
};

template <class Call>
int ShadowCm::forward(VirtualId& id, Call&& call) {
  const std::lock_guard one(id.call);
  if (id.physical == nullptr)
    if (const int error = revive(id)) {
      errno = error;
      return -1;
    }
  to_physical(id);
  const int result = call(id.physical);
  const int error = errno;
  show(id);
  errno = error;
  return result;
}

}  // namespace rdmove::shadow
