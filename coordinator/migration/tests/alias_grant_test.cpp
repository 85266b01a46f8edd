#include "coordinator/migration/alias_grant.hpp"

#include <gmock/gmock.h>

#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::HasSubstr;
using testing::NiceMock;
using testing::Return;

class Looks final : public Patience {
 public:
  explicit Looks(int more) : left(more) {}
  bool again() override { return left-- > 0; }
  int left;
};

class AliasGrant : public testing::Test {
 protected:
  AliasGrant() {
    declared.alias = DeviceAlias("ua-ib0");
    declared.model = Model::kSharedPort;
    declared.identity.port_guid = Guid(0x0002c90300770001);
  }
  static VfDetails told(Words words) {
    VfDetails details;
    details.told = std::move(words);
    return details;
  }
  std::optional<std::string> after(int looks) {
    Looks patience(looks);
    return aliasNotGranted(fabric, VfName("0000:3b:00.2"), declared, patience);
  }
  NiceMock<FakeFabric> fabric;
  VfDeclaration declared;
};

TEST_F(AliasGrant, is_waited_for) {
  EXPECT_CALL(fabric, look)
      .WillOnce(Return(told({{"granted-port-guid", "00:00:00:00:00:00:00:00"}})))
      .WillOnce(Return(told({{"granted-port-guid", "00:02:c9:03:00:77:00:01"}})));
  EXPECT_EQ(after(5), std::nullopt);
}

TEST_F(AliasGrant, that_does_not_come_is_a_warning_that_says_what_is_there) {
  EXPECT_CALL(fabric, look)
      .Times(3)
      .WillRepeatedly(Return(told({{"granted-port-guid", "02:14:05:00:00:00:00:03"}})));
  const auto said = after(2);
  ASSERT_TRUE(said);
  EXPECT_THAT(*said, HasSubstr("not granted GUID 00:02:c9:03:00:77:00:01 to 0000:3b:00.2"));
  EXPECT_THAT(*said, HasSubstr("it has 02:14:05:00:00:00:00:03"));
}

TEST_F(AliasGrant, of_a_driver_that_does_not_tell_and_of_other_models_is_not_asked_for) {
  ON_CALL(fabric, look).WillByDefault(Return(told({{"port-guid", "00:02:c9:03:00:77:00:01"}})));
  EXPECT_EQ(after(0), std::nullopt);
  EXPECT_CALL(fabric, look).Times(0);
  declared.model = Model::kVirtualSwitch;
  EXPECT_EQ(after(0), std::nullopt);
}

}  // namespace
}  // namespace rdmove
