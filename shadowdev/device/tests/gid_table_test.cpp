// GIDs keep the numbers that programs know, also when the device that comes back numbers them otherwise.
#include "shadowdev/device/gid_table.hpp"

#include "shadowdev/device/tests/device_fixture.hpp"

namespace rdmove::shadow::test {
namespace {

ibv_gid_entry row(std::uint32_t index, std::initializer_list<std::uint8_t> begins,
                  std::uint32_t type = IBV_GID_TYPE_ROCE_V2) {
  ibv_gid_entry entry{};
  std::copy(begins.begin(), begins.end(), entry.gid.raw);
  entry.gid_index = index;
  entry.port_num = 1;
  entry.gid_type = type;
  return entry;
}

TEST(GidTable, aGidKeepsItsNumberWhereverTheDeviceHasIt) {
  GidTable table;
  table.refresh({row(0, {0xFE, 0x80, 1}), row(1, {10, 1}), row(2, {10, 2})});
  table.refresh({row(0, {10, 2}), row(3, {10, 1})});
  EXPECT_EQ(table.physical(1), 3);
  EXPECT_EQ(table.physical(2), 0);
  EXPECT_EQ(table.shown(3), 1);
  EXPECT_EQ(table.at(2)->gid.raw[1], 2);
  EXPECT_EQ(table.at(2)->gid_index, 2U);
}

TEST(GidTable, oneThatTheDeviceHasNoMoreIsAtNoIndexOfIt) {
  GidTable table;
  table.refresh({row(0, {10, 1}), row(1, {10, 2})});
  table.refresh({row(1, {10, 1})});
  EXPECT_EQ(table.physical(1), 0xFF);  // and not 1, which is another GID's now
  EXPECT_EQ(table.physical(7), 0xFF);
  EXPECT_TRUE(table.has(table.at(1)->gid));
}

TEST(GidTable, aNewOneTakesNoNumberThatAnotherHas) {
  GidTable table;
  table.refresh({row(0, {10, 1}), row(1, {10, 2})});
  table.refresh({row(0, {10, 3}), row(1, {10, 1}), row(2, {10, 2})});
  EXPECT_EQ(table.physical(0), 1);
  EXPECT_EQ(table.physical(1), 2);
  EXPECT_EQ(table.at(2)->gid.raw[1], 3);
  EXPECT_EQ(table.physical(2), 0);
}

TEST(GidTable, theSameGidWithTwoTypesIsTwoRows) {
  GidTable table;
  table.refresh({row(0, {10, 1}, IBV_GID_TYPE_ROCE_V1), row(1, {10, 1})});
  table.refresh({row(4, {10, 1}), row(5, {10, 1}, IBV_GID_TYPE_ROCE_V1)});
  EXPECT_EQ(table.physical(0), 5);
  EXPECT_EQ(table.physical(1), 4);
}

TEST(GidTable, aDeviceReachesItselfAtAnAddressThatIsRouted) {
  GidTable table;
  table.refresh({row(0, {0xFE, 0x80, 1}), row(3, {10, 1})});
  EXPECT_EQ(table.to_itself(), 3U);
  table.refresh({row(0, {0xFE, 0x80, 1})});
  EXPECT_EQ(table.to_itself(), 0U);
}

TEST_F(DeviceTest, aDeviceThatComesBackWithItsGidAtAnotherIndexIsTheSame) {
  End a(left.verbs, "left0"), b(right.verbs, "right0");
  End::connect(a, b);
  ASSERT_EQ(b.receive(1, 0, 64), 0);
  left.gid_index = 3;
  move(left, a);
  ibv_gid gid{};
  ASSERT_EQ(left.verbs.gid(a.context, 1, 0, &gid), 0);
  EXPECT_TRUE(same(gid, a.gid));
  ASSERT_EQ(a.send(IBV_WR_SEND, 2, 0, 8, IBV_SEND_SIGNALED), 0);
  fabric.run();
  EXPECT_THAT(brief(b.poll()), testing::ElementsAre(good(1)));
  // A path that a program names by the number that it knows.
  ibv_ah_attr to = End::towards(b.gid);
  ibv_ah* ah = left.verbs.create_ah(a.pd, &to);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(left.verbs.destroy_ah(ah), 0);
}

}  // namespace
}  // namespace rdmove::shadow::test
