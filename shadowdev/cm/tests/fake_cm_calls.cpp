// librdmacm's functions over the one FakeCm that lives: they have no place for whose they are.
#include "shadowdev/cm/tests/fake_cm.hpp"

namespace rdmove::shadow::fake {
namespace {

FakeCm* current = nullptr;

}  // namespace

template <unsigned kNode>
struct Entry {
  static rdma_event_channel* create_channel() { return current->create_channel(kNode); }
  static void destroy_channel(rdma_event_channel* channel) { current->destroy_channel(channel); }
  static int create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space) {
    return current->create_id(kNode, channel, id, context);
  }
  static int destroy_id(rdma_cm_id* id) { return current->destroy_id(id); }
  static int bind_addr(rdma_cm_id* id, sockaddr* address) { return current->bind_addr(id, address); }
  static int resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr* to, int) {
    return current->resolve_addr(id, to);
  }
  static int resolve_route(rdma_cm_id* id, int) { return current->resolve_route(id); }
  static int create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* init) {
    return current->create_qp(id, pd, init);
  }
  static void destroy_qp(rdma_cm_id* id) { current->destroy_qp(id); }
  static int listen(rdma_cm_id* id, int) { return current->listen(id); }
  static int connect(rdma_cm_id* id, rdma_conn_param* with) { return current->connect(id, with); }
  static int accept(rdma_cm_id* id, rdma_conn_param* with) { return current->accept(id, with); }
  static int disconnect(rdma_cm_id* id) { return current->disconnect(id); }
  static int get_event(rdma_event_channel* channel, rdma_cm_event** out) {
    return current->get_event(channel, out);
  }
  static int acknowledge(rdma_cm_event* event) { return current->acknowledge(event); }
  static int migrate(rdma_cm_id* id, rdma_event_channel* channel) { return current->migrate(id, channel); }
  static int set_option(rdma_cm_id*, int, int, void*, std::size_t) { return 0; }

  static CmCalls all() {
    CmCalls calls;
    calls.rdma_create_event_channel = create_channel;
    calls.rdma_destroy_event_channel = destroy_channel;
    calls.rdma_create_id = create_id;
    calls.rdma_destroy_id = destroy_id;
    calls.rdma_bind_addr = bind_addr;
    calls.rdma_resolve_addr = resolve_addr;
    calls.rdma_resolve_route = resolve_route;
    calls.rdma_create_qp = create_qp;
    calls.rdma_destroy_qp = destroy_qp;
    calls.rdma_listen = listen;
    calls.rdma_connect = connect;
    calls.rdma_accept = accept;
    calls.rdma_disconnect = disconnect;
    calls.rdma_get_cm_event = get_event;
    calls.rdma_ack_cm_event = acknowledge;
    calls.rdma_migrate_id = migrate;
    calls.rdma_set_option = set_option;
    return calls;
  }
};

FakeCm::FakeCm() {
  current = this;
}

FakeCm::~FakeCm() {
  EXPECT_TRUE(ids_.empty()) << ids_.size() << " ids were never destroyed";
  EXPECT_TRUE(channels_.empty()) << channels_.size() << " event channels were never destroyed";
  current = nullptr;
}

CmCalls FakeCm::calls(unsigned node) {
  return node == 0 ? Entry<0>::all() : node == 1 ? Entry<1>::all() : Entry<2>::all();
}

}  // namespace rdmove::shadow::fake
