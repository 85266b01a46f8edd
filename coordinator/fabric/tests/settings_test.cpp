#include "coordinator/fabric/identity/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove::fabric {
namespace {

VfSettings all() {
  VfSettings settings;
  settings.mac = MacAddress::parse("52:54:00:77:00:01");
  settings.vlan = VlanTag{7, 3, VlanProtocol::k8021ad};
  settings.trust = true;
  settings.spoof_check = false;
  settings.rates = Rates{10, 2500};
  settings.node_guid = Guid(0x0002c903000a1b2c);
  settings.port_guid = Guid();
  settings.partitions = PartitionSlots{0U, std::nullopt, 4U};
  settings.link = LinkPolicy::kEnable;
  return settings;
}

TEST(Settings, come_back_from_the_journals_text) {
  EXPECT_EQ(settingsFromJson(toJson(all())).value(), all());
  EXPECT_EQ(settingsFromJson(toJson({})).value(), VfSettings());
  EXPECT_EQ(toJson({}), "{}");
  for (const Field field : kFields) {
    VfSettings one;
    copy(field, all(), one);
    EXPECT_EQ(settingsFromJson(toJson(one)).value(), one) << nameOf(field);
    EXPECT_TRUE(has(one, field)) << nameOf(field);
    EXPECT_FALSE(has({}, field)) << nameOf(field);
    EXPECT_FALSE(same(field, one, {})) << nameOf(field);
    EXPECT_TRUE(same(field, one, all())) << nameOf(field);
  }
}

TEST(Settings, that_are_none_are_bad_input) {
  for (const char* text : {"", "x", "[]", "7", R"({"mac":"x"})", R"({"colour":"red"})", R"({"link":"up"})",
                           R"({"vlan":{"id":1}})", R"({"partitions":[-1]})", R"({"trust":"on"})"}) {
    const auto read = settingsFromJson(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput) << text;
  }
  EXPECT_FALSE(settingsFromJson(std::string(70000, ' ') + "{}"));
}

TEST(Settings, are_shown_as_people_say_them) {
  std::vector<std::string> words;
  for (const Field field : kFields) words.push_back(show(field, all()));
  EXPECT_THAT(words, testing::ElementsAre(
                         "MAC 52:54:00:77:00:01", "VLAN 7 priority 3 802.1ad", "trust on", "spoof check off",
                         "rates 10 to 2500 Mbit/s", "node GUID 00:02:c9:03:00:0a:1b:2c",
                         "port GUID 00:00:00:00:00:00:00:00", "P_Key slots 0 none 4", "link state enable"));
  VfSettings none;
  none.mac = MacAddress{};
  none.vlan = VlanTag{};
  EXPECT_EQ(show(Field::kMac, none), "no MAC");
  EXPECT_EQ(show(Field::kVlan, none), "no VLAN");
  EXPECT_EQ(show(Field::kTrust, none), "trust not told");
}

TEST(Settings, of_an_identity_are_what_it_declares) {
  Identity identity;
  EXPECT_EQ(settingsOf(identity), VfSettings());
  identity.vlan = 5;
  identity.max_rate = 100;
  const VfSettings settings = settingsOf(identity);
  EXPECT_EQ(settings.vlan, (VlanTag{5, 0, VlanProtocol::k8021Q}));
  EXPECT_EQ(settings.rates, (Rates{0, 100}));
  EXPECT_FALSE(settings.mac || settings.trust || settings.link || settings.node_guid || settings.partitions);
}

}  // namespace
}  // namespace rdmove::fabric
