// Test support: librdmacm and the kernel behind it, in memory. Nodes are processes with a device each; what
// librdmacm does with verbs, it does with those that the node names. It checks what the real one hangs or
// crashes on: acknowledgements that are owed, ids that are used after their destruction.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "shadowdev/verbs/cm_calls.hpp"
#include "shadowdev/verbs/verbs.hpp"

namespace rdmove::shadow::fake {

struct FakeId;

struct FakeCmEvent : rdma_cm_event {
  FakeId* counted = nullptr;
  std::array<char, 64> data{};
};

struct FakeChannel : rdma_event_channel {
  unsigned node = 0;
  std::deque<std::unique_ptr<FakeCmEvent>> events;
};

struct FakeId : rdma_cm_id {
  unsigned node = 0;
  bool in_kernel = true;  ///< false: its device went
  bool synchronous = false;
  bool listens = false;
  bool connected = false;
  bool asks = false;  ///< rdma_connect() has no answer yet
  unsigned owed = 0;  ///< acknowledgements
  std::uint32_t number = 0;
  std::uint32_t far_number = 0;
  FakeId* other = nullptr;
};

class FakeCm {
 public:
  static constexpr unsigned kMostNodes = 3;
  struct Node {
    Verbs* verbs = nullptr;
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_gid gid{};
    bool has_device = true;
  };

  FakeCm();
  ~FakeCm();
  FakeCm(const FakeCm&) = delete;
  FakeCm& operator=(const FakeCm&) = delete;

  /// librdmacm's functions as a process on this node has them; for as long as this object lives.
  static CmCalls calls(unsigned node);
  static sockaddr_in address(unsigned node, std::uint16_t port);

  void remove_device(unsigned node);
  void add_device(unsigned node) { nodes[node].has_device = true; }
  /// Of connections, that the kernel of this node knows.
  [[nodiscard]] unsigned connections(unsigned node) const;
  [[nodiscard]] unsigned listeners(unsigned node) const;

  std::array<Node, kMostNodes> nodes;
  unsigned migrations_to_fail = 0;

 private:
  template <unsigned kNode>
  friend struct Entry;

  FakeChannel* create_channel(unsigned node);
  void destroy_channel(rdma_event_channel* channel);
  int create_id(unsigned node, rdma_event_channel* channel, rdma_cm_id** out, void* context);
  int destroy_id(rdma_cm_id* id);
  int bind_addr(rdma_cm_id* id, sockaddr* address);
  int resolve_addr(rdma_cm_id* id, sockaddr* to);
  int resolve_route(rdma_cm_id* id);
  int create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* init);
  void destroy_qp(rdma_cm_id* id);
  int listen(rdma_cm_id* id);
  int connect(rdma_cm_id* id, rdma_conn_param* parameters);
  int accept(rdma_cm_id* id, rdma_conn_param* parameters);
  int disconnect(rdma_cm_id* id);
  int get_event(rdma_event_channel* channel, rdma_cm_event** out);
  int acknowledge(rdma_cm_event* event);
  int migrate(rdma_cm_id* id, rdma_event_channel* channel);

  FakeId* known(rdma_cm_id* id, bool in_kernel = true);
  void post(FakeId& id, rdma_cm_event_type type, int status = 0, const rdma_conn_param* with = nullptr,
            FakeId* child = nullptr);
  void take_device(FakeId& id);
  void end(FakeId& id);
  int to_rts(FakeId& id);

  std::list<std::unique_ptr<FakeId>> ids_;
  std::set<rdma_event_channel*> channels_;
};

}  // namespace rdmove::shadow::fake
