// How requests travel between QPs: execution at the responder, acknowledgement, errors, flushes. Used by the
// calls of the provider in memory, under the fabric's lock.
#pragma once

#include "shadowdev/fakeverbs/fabric.hpp"

namespace rdmove::shadow::fake {

inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;

struct Wire {
  Fabric& fabric;

  bool step(Qp& qp, bool acknowledge_first);  ///< false: nothing can happen here
  void enter_error(Qp& qp);
  void forget_completions(Qp& qp);  ///< as mlx5 cleans its CQs when a QP is reset or destroyed
  void raise(ibv_event_type type, Qp* qp);
  void raise_on(ibv_context* context, ibv_async_event event);

 private:
  bool execute(Qp& qp);
  bool execute_connected(Qp& qp, Request& request);
  void execute_datagram(Qp& qp, Request& request);
  void executed(Qp& qp, Request& request);
  void acknowledge(Qp& qp);
  void show(Qp& qp);  ///< the oldest late thing
  void fail(Qp& qp, ibv_wc_status status);
  void fail_first(Qp& qp, ibv_wc_status status);
  Qp* peer_of(Qp& qp);
  /// What the requester gets; kNoReceive: the responder has no receive for it.
  int respond(Qp& qp, Request& request, Qp& peer);
  int deliver(Qp& qp, Request& request, Qp& peer, const std::vector<std::byte>& data);
  static ibv_wc_status write(Request& request, Qp& peer, const std::vector<std::byte>& data);
  static ibv_wc_status read(Request& request, Qp& peer);
  static ibv_wc_status atomic(Request& request, Qp& peer);
  bool gather(Qp& qp, Request& request, std::vector<std::byte>& data);
  static bool scatter(Qp& qp, const std::vector<ibv_sge>& to, const std::vector<std::byte>& data);
  void push(ibv_cq* cq, const ibv_wc& wc, bool solicited);
};

/// The function tables of a context, for verbs.h's inline functions.
struct DataPath {
  static void fill(Context& context);
  static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
  static int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
  static int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);
  static int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc);
  static int req_notify_cq(ibv_cq* cq, int solicited_only);
};

}  // namespace rdmove::shadow::fake
