#include "shadowdev/verbs/qp_attributes.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace rdmove::shadow {
namespace {

struct Field {
  int bit;
  std::function<unsigned(const ibv_qp_attr&)> value;
};

template <class T>
Field field(int bit, T ibv_qp_attr::*member) {
  return {bit, [member](const ibv_qp_attr& attr) { return static_cast<unsigned>(attr.*member); }};
}

std::vector<Field> fields() {
  return {field(IBV_QP_STATE, &ibv_qp_attr::qp_state),
          field(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags),
          field(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index),
          field(IBV_QP_PORT, &ibv_qp_attr::port_num),
          field(IBV_QP_QKEY, &ibv_qp_attr::qkey),
          {IBV_QP_AV, [](const ibv_qp_attr& attr) { return static_cast<unsigned>(attr.ah_attr.dlid); }},
          field(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu),
          field(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout),
          field(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt),
          field(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry),
          field(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn),
          field(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn),
          field(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic),
          field(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic),
          field(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer),
          field(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num)};
}

// Independent of the table under test: the names are ibv_modify_qp(3)'s.
TEST(QpAttributes, eachBitTakesItsFieldAndNoOther) {
  ibv_qp_attr from{};
  from.qp_state = IBV_QPS_RTR;
  from.qp_access_flags = 1;
  from.pkey_index = 2;
  from.port_num = 3;
  from.qkey = 4;
  from.ah_attr.dlid = 5;
  from.path_mtu = IBV_MTU_4096;
  from.timeout = 6;
  from.retry_cnt = 7;
  from.rnr_retry = 8;
  from.rq_psn = 9;
  from.sq_psn = 10;
  from.max_rd_atomic = 11;
  from.max_dest_rd_atomic = 12;
  from.min_rnr_timer = 13;
  from.dest_qp_num = 14;
  for (const Field& named : fields()) {
    ibv_qp_attr to{};
    copy_named(to, from, named.bit);
    for (const Field& each : fields()) {
      const bool is_named = each.bit == named.bit;
      EXPECT_EQ(each.value(to), is_named ? each.value(from) : 0U)
          << "bit " << named.bit << ", field of bit " << each.bit;
    }
  }
}

}  // namespace
}  // namespace rdmove::shadow
