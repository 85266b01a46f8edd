// Which field of ibv_qp_attr each bit of a mask stands for (ibv_modify_qp(3)), and a refusal as the library
// makes it.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>

namespace rdmove::shadow {

/// nullptr, with errno.
template <class T>
T* refused(int error) {
  errno = error;
  return nullptr;
}

/// The fields that the mask names. The alternate path has none here: no QP of the shadow's has one.
inline void copy_named(ibv_qp_attr& to, const ibv_qp_attr& from, int mask) {
  const auto take = [&](int bit, auto ibv_qp_attr::*field) {
    if ((mask & bit) != 0) to.*field = from.*field;
  };
  take(IBV_QP_STATE, &ibv_qp_attr::qp_state);
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
}

}  // namespace rdmove::shadow
