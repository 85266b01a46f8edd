#include "coordinator/base/vf_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove {
namespace {

using testing::HasSubstr;

class GuidSpelling : public testing::TestWithParam<const char*> {};

TEST_P(GuidSpelling, is_one_guid) {
  const auto guid = Guid::parse(GetParam());
  ASSERT_TRUE(guid) << guid.error().sentence();
  EXPECT_EQ(guid->value(), 0x0002c903000a1b2cULL);
  EXPECT_EQ(guid->str(), "00:02:c9:03:00:0a:1b:2c");
  EXPECT_EQ(guid->digits(), "0002c903000a1b2c");
  EXPECT_EQ(Guid::read(GetParam()), *guid);
}
INSTANTIATE_TEST_SUITE_P(Each, GuidSpelling,
                         testing::Values("00:02:c9:03:00:0a:1b:2c", "0002:c903:000a:1b2c", "0002c903000a1b2c",
                                         "0x0002c903000a1b2c", "0X0002C903000A1B2C"));

struct NoGuid {
  const char* text;
  const char* why;
  friend std::ostream& operator<<(std::ostream& out, const NoGuid& self) { return out << self.text; }
};
class NoGuids : public testing::TestWithParam<NoGuid> {};

TEST_P(NoGuids, say_why_in_one_sentence) {
  const auto guid = Guid::parse(GetParam().text);
  ASSERT_FALSE(guid);
  EXPECT_EQ(guid.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(guid.error().sentence(), HasSubstr(GetParam().why));
  EXPECT_THAT(guid.error().sentence(), HasSubstr(std::string("'") + GetParam().text + "'"));
}
INSTANTIATE_TEST_SUITE_P(
    Each, NoGuids,
    testing::Values(NoGuid{"00:00:00:00:00:00:00:00", "all zeros"}, NoGuid{"0x0000000000000000", "all zeros"},
                    NoGuid{"ff:ff:ff:ff:ff:ff:ff:ff", "all ones"},
                    NoGuid{"01:02:c9:03:00:0a:1b:2c", "group bit"}, NoGuid{"00:02:c9:03", "8 digits"},
                    NoGuid{"0x2c903000a1b2c", "13 digits"}, NoGuid{"0002c903000a1b2c00", "18 digits"},
                    NoGuid{"", "no hexadecimal"}, NoGuid{"0x", "no hexadecimal"},
                    NoGuid{"00:02:c9:03:00:0a:1b:2g", "no hexadecimal"},
                    NoGuid{"00:02:c903:00:0a:1b:2c", "no hexadecimal"},
                    NoGuid{"00:02:c9:03:00:0a:1b:2c:", "no hexadecimal"},
                    NoGuid{"0:02:c9:03:00:0a:1b:2c0", "no hexadecimal"},
                    NoGuid{"-002c903000a1b2c", "no hexadecimal"},
                    NoGuid{" 002c903000a1b2c", "no hexadecimal"}));

TEST(GuidRead, takes_what_drivers_tell) {
  EXPECT_EQ(Guid::read("2c903000a1b2c"), Guid(0x0002c903000a1b2cULL)) << "mlx4 leaves leading zeros out";
  EXPECT_EQ(Guid::read("0"), Guid());
  EXPECT_EQ(Guid::read("ffffffffffffffff"), Guid(~0ULL));
  EXPECT_FALSE(Guid::read("none"));
  EXPECT_FALSE(Guid::read("00000000000000001"));
}

TEST(PartitionKeys, have_a_partition_and_a_membership_bit) {
  const auto full = PartitionKey::parse("0x8001");
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->full());
  EXPECT_EQ(full->partition(), 1);
  EXPECT_EQ(full->str(), "0x8001");
  const auto limited = PartitionKey::parse("0x1");
  ASSERT_TRUE(limited);
  EXPECT_FALSE(limited->full());
  EXPECT_EQ(limited->str(), "0x0001");
  for (const char* none : {"8001", "0x", "0x10000", "0x80g1", ""}) {
    EXPECT_THAT(PartitionKey::parse(none).error().sentence(), HasSubstr("no P_Key")) << none;
  }
  for (const char* zero : {"0x8000", "0x0"}) {
    EXPECT_THAT(PartitionKey::parse(zero).error().sentence(), HasSubstr("partition 0")) << zero;
  }
}

TEST(PartitionKeys, come_as_a_table_in_its_order) {
  const auto keys = parsePartitionKeys(" 0xffff  0x1 0x8002 ");
  ASSERT_TRUE(keys) << keys.error().sentence();
  EXPECT_EQ(toString(*keys), "0xffff 0x0001 0x8002");
  EXPECT_TRUE(parsePartitionKeys("")->empty());
  EXPECT_THAT(parsePartitionKeys("0xffff,0x8001").error().sentence(), HasSubstr("no P_Key"));
  std::string many;
  for (int i = 0; i < 128; ++i) many += "0x8001 ";
  EXPECT_EQ(parsePartitionKeys(many)->size(), 128U);
  EXPECT_THAT(parsePartitionKeys(many + "0x8001").error().sentence(), HasSubstr("more than 128"));
}

TEST(VfWords, come_back_from_their_text) {
  for (const auto policy : {LinkPolicy::kAuto, LinkPolicy::kEnable, LinkPolicy::kDisable})
    EXPECT_EQ(parseLinkPolicy(toString(policy)), policy);
  for (const auto protocol : {VlanProtocol::k8021Q, VlanProtocol::k8021ad})
    EXPECT_EQ(parseVlanProtocol(toString(protocol)), protocol);
  EXPECT_FALSE(parseLinkPolicy("up"));
  EXPECT_FALSE(parseVlanProtocol("802.1q"));
}

}  // namespace
}  // namespace rdmove
