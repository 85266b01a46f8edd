// MADs byte by byte: the offsets are those of IBTA volume 1 as include/rdma/ib_mad.h, core/sa_query.c and
// ibta_vol1_c12.h of the kernel have them. Where rdma-core has the layout too, umad_layout_test compares with
// it.
#include "shadowdev/gsi/mad.hpp"

#include <gtest/gtest.h>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {
namespace {

template <std::size_t N>
std::array<std::byte, N> counted(unsigned from = 0) {
  std::array<std::byte, N> bytes{};
  for (std::size_t i = 0; i < N; ++i) bytes[i] = static_cast<std::byte>(from + i);
  return bytes;
}

unsigned at(std::span<const std::byte> bytes, std::size_t offset) {
  return std::to_integer<unsigned>(bytes[offset]);
}

TEST(Mad, headerIsWhereTheSpecificationHasIt) {
  Mad mad = Mad::make(ManagementClass::SubnetAdministration, 2, Method::Set, 0x1234);
  mad.set_status(0x0506);
  mad.set_transaction(tid(0x0102030405060708));
  const std::vector<unsigned> expected = {1, 3, 2, 2, 5, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x12, 0x34};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(at(mad.bytes(), i), expected[i]) << i;
  EXPECT_EQ(mad.management_class(), ManagementClass::SubnetAdministration);
  EXPECT_EQ(mad.attribute(), 0x1234);
  EXPECT_EQ(mad.status(), 0x0506);
  EXPECT_EQ(mad.transaction(), tid(0x0102030405060708));
}

TEST(Mad, onlyWholeOnesOfVersionOneAreRead) {
  std::vector<std::byte> bytes(256);
  EXPECT_FALSE(Mad::from(bytes)) << "base version 0";
  bytes[0] = std::byte{1};
  EXPECT_TRUE(Mad::from(bytes));
  EXPECT_FALSE(Mad::from(std::span(bytes).first(255)));
  EXPECT_FALSE(Mad::from({}));
  bytes.resize(2048);
  bytes[0] = std::byte{0x80};
  EXPECT_FALSE(Mad::from(bytes)) << "Omni-Path's";
}

TEST(Mad, eachRequestHasItsAnswer) {
  EXPECT_EQ(response_to(Method::Get), Method::GetResp);
  EXPECT_EQ(response_to(Method::Set), Method::GetResp);
  EXPECT_EQ(response_to(Method::Delete), Method::DeleteResp);
  EXPECT_EQ(response_to(Method::GetTraceTable), Method::GetTableResp);
  EXPECT_EQ(response_to(Method::Report), Method::ReportResp);
  EXPECT_EQ(response_to(Method::Send), std::nullopt);
  EXPECT_EQ(response_to(Method::Trap), std::nullopt);
  EXPECT_EQ(response_to(Method::GetResp), std::nullopt);
}

TEST(Mad, anAnswerGoesBackTheWayTheRequestCame) {
  Datagram request = with_grh(path_query(tid(1)), gid_of(function(1)), peer_gid());
  request.service_level = 3;
  const Datagram answer = answer_to(request, request.mad);
  EXPECT_EQ(answer.remote, kSubnetManager);
  EXPECT_EQ(answer.service_level, 3);
  ASSERT_TRUE(answer.grh);
  EXPECT_EQ(answer.grh->source, peer_gid());
  EXPECT_EQ(answer.grh->destination, gid_of(function(1)));
}

TEST(SaMad, headerIsWhereTheSpecificationHasIt) {
  Mad mad;
  set_component_mask(mad, 0x1122334455667788);
  set_attribute_offset(mad, 0x99AA);
  sa_data(mad)[0] = std::byte{0xEE};
  EXPECT_EQ(at(mad.bytes(), 44), 0x99U);
  EXPECT_EQ(at(mad.bytes(), 48), 0x11U);
  EXPECT_EQ(at(mad.bytes(), 55), 0x88U);
  EXPECT_EQ(at(mad.bytes(), 56), 0xEEU);
  EXPECT_EQ(sa_data(mad).size(), 200U);
}

TEST(McMemberRecord, isWhereTheSpecificationHasIt) {
  McMemberRecord record;
  record.group = Gid(counted<16>(0));
  record.port = Gid(counted<16>(16));
  record.queue_key = 0x20212223;
  record.multicast_lid = 0x2425;
  record.mtu_selector = 2;
  record.mtu = 4;
  record.traffic_class = 0x27;
  record.partition_key = 0x2829;
  record.rate_selector = 1;
  record.rate = 3;
  record.life_time_selector = 3;
  record.life_time = 18;
  record.service_level = 0xA;
  record.flow_label = 0xBCDEF;
  record.hop_limit = 0x2F;
  record.scope = 2;
  record.join_state = kFullMember | kSendOnlyFullMember;
  record.proxy_join = true;
  McMemberRecord::Bytes bytes{};
  record.write(bytes);
  for (std::size_t i = 0; i < 38; ++i) EXPECT_EQ(at(bytes, i), i) << i;
  const std::vector<unsigned> rest = {0x84, 0x27, 0x28, 0x29, 0x43, 0xD2, 0xAB,
                                      0xCD, 0xEF, 0x2F, 0x29, 0x80, 0,    0};
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(at(bytes, 38 + i), rest[i]) << 38 + i;
  EXPECT_EQ(McMemberRecord::read(bytes), record);
}

TEST(InformInfo, isWhereTheSpecificationHasIt) {
  InformInfo info;
  info.gid = Gid(counted<16>(0));
  info.lid_begin = 0x1011;
  info.lid_end = 0x1213;
  info.type = 0x1819;
  info.trap_or_device = 0x1A1B;
  info.queue_pair = QueuePairNumber{0x1C1D1E};
  info.response_time = 0x1F;
  info.producer = 0x212223;
  InformInfo::Bytes bytes{};
  info.write(bytes);
  auto expected = counted<36>(0);
  expected[20] = expected[21] = std::byte{0};
  expected[22] = expected[23] = std::byte{1};
  expected[32] = std::byte{0};
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(InformInfo::read(bytes), info);
}

TEST(Notice, isWhereTheSpecificationHasIt) {
  Notice notice;
  notice.is_generic = true;
  notice.type = 0x04;
  notice.producer = 0x010203;
  notice.trap_or_device = 0x0405;
  notice.issuer = Lid{0x0607};
  notice.toggle_and_count = 0x0809;
  notice.details = counted<54>(10);
  notice.issuer_gid = Gid(counted<16>(64));
  Notice::Bytes bytes{};
  notice.write(bytes);
  auto expected = counted<80>(0);
  expected[0] = std::byte{0x84};
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(Notice::read(bytes), notice);
}

TEST(Notice, trapsAboutGidsNameThem) {
  EXPECT_EQ(gid_in_service(peer_gid()).about(), peer_gid());
  Notice other = gid_in_service(peer_gid());
  other.trap_or_device = 128;
  EXPECT_EQ(other.about(), other.issuer_gid);
}

TEST(Subscription, matchesWhatItAsksFor) {
  const Notice notice = gid_in_service(peer_gid());
  EXPECT_TRUE(matches(InformInfo{}, notice)) << "all";
  EXPECT_TRUE(matches(for_trap(64), notice));
  EXPECT_FALSE(matches(for_trap(65), notice));
  InformInfo info = for_trap(64);
  info.type = 1;
  EXPECT_FALSE(matches(info, notice));
  info = for_trap(64);
  info.producer = 1;
  EXPECT_FALSE(matches(info, notice));
  info = for_trap(64);
  info.is_generic = false;
  EXPECT_FALSE(matches(info, notice));
  info = for_trap(64);
  info.gid = peer_gid();
  EXPECT_TRUE(matches(info, notice));
  info.gid = port_gid();
  EXPECT_FALSE(matches(info, notice));
  info = for_trap(64);
  info.lid_begin = 1;
  EXPECT_TRUE(matches(info, notice));
  info.lid_begin = 2, info.lid_end = 5;
  EXPECT_FALSE(matches(info, notice));
}

struct CmLayout {
  CmMessageType type;
  bool has_local;
  bool has_remote;
  std::size_t sender;  // 0: no GIDs
  std::size_t receiver;
};

class CmMessageLayout : public testing::TestWithParam<CmLayout> {};

TEST_P(CmMessageLayout, idsAndGidsAreWhereTheSpecificationHasThem) {
  const CmLayout& layout = GetParam();
  Mad mad = Mad::make(ManagementClass::CommunicationManagement, 2, Method::Send,
                      static_cast<std::uint16_t>(layout.type));
  for (std::size_t i = 24; i < Mad::kBytes; ++i) mad.bytes()[i] = static_cast<std::byte>(i);
  ASSERT_EQ(cm_message_type(mad), layout.type);
  EXPECT_EQ(local_comm_id(mad, layout.type),
            layout.has_local ? std::optional(CommId{0x18191A1B}) : std::nullopt);
  const CommId remote = layout.type == CmMessageType::SidrRep ? CommId{0x18191A1B} : CommId{0x1C1D1E1F};
  EXPECT_EQ(remote_comm_id(mad, layout.type), layout.has_remote ? std::optional(remote) : std::nullopt);
  const auto gids = cm_gids(mad, layout.type);
  ASSERT_EQ(gids.has_value(), layout.sender != 0);
  if (gids) {
    EXPECT_EQ(std::to_integer<std::size_t>(gids->sender.bytes()[0]), layout.sender);
    EXPECT_EQ(std::to_integer<std::size_t>(gids->receiver.bytes()[0]), layout.receiver);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CmMessageLayout,
                         testing::Values(CmLayout{CmMessageType::Req, true, false, 24 + 56, 24 + 72},
                                         CmLayout{CmMessageType::Mra, true, true, 0, 0},
                                         CmLayout{CmMessageType::Rej, true, true, 0, 0},
                                         CmLayout{CmMessageType::Rep, true, true, 0, 0},
                                         CmLayout{CmMessageType::Rtu, true, true, 0, 0},
                                         CmLayout{CmMessageType::Dreq, true, true, 0, 0},
                                         CmLayout{CmMessageType::Drep, true, true, 0, 0},
                                         CmLayout{CmMessageType::SidrReq, true, false, 0, 0},
                                         CmLayout{CmMessageType::SidrRep, false, true, 0, 0},
                                         CmLayout{CmMessageType::Lap, true, true, 24 + 24, 24 + 40},
                                         CmLayout{CmMessageType::Apr, true, true, 0, 0}));

TEST(CmMessage, whatIsNoneOfThemIsNone) {
  Datagram message = cm(CmMessageType::Rtu, CommId{1}, CommId{2});
  EXPECT_TRUE(cm_message_type(message.mad));
  message.mad.set_field<16>(std::uint16_t{0x0F});
  EXPECT_FALSE(cm_message_type(message.mad));
  message.mad.set_field<16>(std::uint16_t{0x1B});
  EXPECT_FALSE(cm_message_type(message.mad));
  message = cm(CmMessageType::Rtu, CommId{1}, CommId{2});
  message.mad.set_method(Method::Get);
  EXPECT_FALSE(cm_message_type(message.mad));
}

TEST(GidText, isThatOfIpv6) {
  EXPECT_EQ(Gid::from(kPrefix, 0x1A).text(), "fe80::1a");
  EXPECT_EQ(Gid::parse("fe80::1a"), Gid::from(kPrefix, 0x1A));
  EXPECT_FALSE(Gid::parse("fe80::1a::"));
  EXPECT_TRUE(group(1).is_multicast());
  EXPECT_FALSE(port_gid().is_multicast());
}

}  // namespace
}  // namespace rdmove::gsi::test
