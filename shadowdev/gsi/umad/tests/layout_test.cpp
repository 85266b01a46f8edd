// Our records against rdma-core's structures, which somebody else wrote down from the same specification.
#include <endian.h>
#include <gtest/gtest.h>
#include <infiniband/umad_cm.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_sa_mcm.h>
#include <infiniband/umad_types.h>

#include <cstddef>

#include "shadowdev/gsi/cm_message.hpp"
#include "shadowdev/gsi/sa.hpp"
#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

TEST(LayoutOfRdmaCore, saMad) {
  Mad mad = Mad::make(ManagementClass::SubnetAdministration, kSaClassVersion, Method::Delete,
                      attribute::kMcMemberRecord);
  mad.set_status(0x0102);
  mad.set_transaction(tid(0x0123456789ABCDEF));
  set_component_mask(mad, 0x1122334455667788);
  set_attribute_offset(mad, 7);
  umad_sa_packet theirs{};
  static_assert(sizeof theirs == Mad::kBytes && offsetof(umad_sa_packet, data) == kSaDataOffset);
  std::memcpy(&theirs, mad.bytes().data(), sizeof theirs);
  EXPECT_EQ(theirs.mad_hdr.base_version, UMAD_BASE_VERSION);
  EXPECT_EQ(theirs.mad_hdr.mgmt_class, UMAD_CLASS_SUBN_ADM);
  EXPECT_EQ(theirs.mad_hdr.class_version, UMAD_SA_CLASS_VERSION);
  EXPECT_EQ(theirs.mad_hdr.method, UMAD_SA_METHOD_DELETE);
  EXPECT_EQ(be16toh(theirs.mad_hdr.status), 0x0102);
  EXPECT_EQ(be64toh(theirs.mad_hdr.tid), 0x0123456789ABCDEF);
  EXPECT_EQ(be16toh(theirs.mad_hdr.attr_id), UMAD_SA_ATTR_MCMEMBER_REC);
  EXPECT_EQ(be64toh(theirs.comp_mask), 0x1122334455667788);
  EXPECT_EQ(be16toh(theirs.attr_offset), 7);
  EXPECT_EQ(static_cast<std::uint16_t>(SaStatus::RequestDenied), UMAD_SA_STATUS_REQ_DENIED << 8);
}

TEST(LayoutOfRdmaCore, mcMemberRecord) {
  McMemberRecord record = test::member(function(1), group(5), kFullMember | kSendOnlyNonMember);
  record.queue_key = 0x01020304;
  record.multicast_lid = 0xC005;
  record.mtu_selector = UMAD_SA_SELECTOR_EXACTLY;
  record.mtu = 4;
  record.traffic_class = 7;
  record.partition_key = 0xFFFE;
  record.rate_selector = UMAD_SA_SELECTOR_LESS_THAN;
  record.rate = 3;
  record.life_time = 18;
  record.service_level = 5;
  record.flow_label = 0x12345;
  record.hop_limit = 64;
  record.scope = 2;
  record.proxy_join = true;
  McMemberRecord::Bytes bytes{};
  record.write(bytes);
  umad_sa_mcmember_record theirs{};
  std::memcpy(&theirs, bytes.data(), bytes.size());
  EXPECT_EQ(std::memcmp(theirs.mgid, record.group.bytes().data(), 16), 0);
  EXPECT_EQ(std::memcmp(theirs.portgid, record.port.bytes().data(), 16), 0);
  EXPECT_EQ(be32toh(theirs.qkey), 0x01020304U);
  EXPECT_EQ(be16toh(theirs.mlid), 0xC005);
  EXPECT_EQ(theirs.mtu, umad_sa_set_rate_mtu_or_life(UMAD_SA_SELECTOR_EXACTLY, 4));
  EXPECT_EQ(theirs.tclass, 7);
  EXPECT_EQ(be16toh(theirs.pkey), 0xFFFE);
  EXPECT_EQ(theirs.rate, umad_sa_set_rate_mtu_or_life(UMAD_SA_SELECTOR_LESS_THAN, 3));
  EXPECT_EQ(theirs.pkt_life, 18);
  EXPECT_EQ(theirs.sl_flow_hop, umad_sa_mcm_set_sl_flow_hop(5, 0x12345, 64));
  EXPECT_EQ(theirs.scope_state,
            umad_sa_mcm_set_scope_state(
                2, UMAD_SA_MCM_JOIN_STATE_FULL_MEMBER | UMAD_SA_MCM_JOIN_STATE_SEND_ONLY_NON_MEMBER));
  EXPECT_TRUE(umad_sa_mcm_get_proxy_join(&theirs));
  EXPECT_EQ(member::kJoinState, UMAD_SA_MCM_COMP_MASK_JOIN_STATE);
  EXPECT_EQ(member::kLifeTimeSelector, UMAD_SA_MCM_COMP_MASK_LIFE_TIME_SEL);
}

TEST(LayoutOfRdmaCore, cmMessageNumbers) {
  EXPECT_EQ(static_cast<int>(CmMessageType::Req), UMAD_CM_ATTR_REQ);
  EXPECT_EQ(static_cast<int>(CmMessageType::Mra), UMAD_CM_ATTR_MRA);
  EXPECT_EQ(static_cast<int>(CmMessageType::Rej), UMAD_CM_ATTR_REJ);
  EXPECT_EQ(static_cast<int>(CmMessageType::Rep), UMAD_CM_ATTR_REP);
  EXPECT_EQ(static_cast<int>(CmMessageType::Rtu), UMAD_CM_ATTR_RTU);
  EXPECT_EQ(static_cast<int>(CmMessageType::Dreq), UMAD_CM_ATTR_DREQ);
  EXPECT_EQ(static_cast<int>(CmMessageType::Drep), UMAD_CM_ATTR_DREP);
  EXPECT_EQ(static_cast<int>(CmMessageType::SidrReq), UMAD_CM_ATTR_SIDR_REQ);
  EXPECT_EQ(static_cast<int>(CmMessageType::SidrRep), UMAD_CM_ATTR_SIDR_REP);
  EXPECT_EQ(static_cast<int>(CmMessageType::Lap), UMAD_CM_ATTR_LAP);
  EXPECT_EQ(static_cast<int>(CmMessageType::Apr), UMAD_CM_ATTR_APR);
}

}  // namespace
}  // namespace rdmove::gsi::test
