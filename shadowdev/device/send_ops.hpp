// ibv_wr_*: requests that a program builds one call at a time between ibv_wr_start() and ibv_wr_complete().
// They are collected and posted together as a list, so holding and translating are those of ibv_post_send().
// Providers hold their queue's lock between the two calls; here it is one of this collection, and nothing is
// in the device.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace rdmove::shadow {

class ShadowVerbs;
struct VirtualQp;

struct SendOps {
  struct Request {
    ibv_send_wr wr{};
    std::size_t entries = 0;  ///< of this request: the last ones of `list` so far
    std::size_t first = 0;
  };
  std::mutex lock;  ///< from ibv_wr_start() on
  std::vector<Request> requests;
  std::vector<ibv_sge> list;
  std::vector<std::unique_ptr<std::byte[]>> inlined;
};

/// ibv_create_qp_ex() with a protection domain and send operations; what the shadow does not have is refused
/// with EOPNOTSUPP. Errors as ShadowVerbs::create_qp().
ibv_qp* create_with_send_ops(ShadowVerbs& verbs, ibv_qp_init_attr_ex* attributes);

/// ibv_qp_to_qp_ex(): nullptr if it was made without.
ibv_qp_ex* send_ops_of(ibv_qp* qp);

}  // namespace rdmove::shadow
