// The tables of docs/models.md, row by row.
#include "coordinator/migration/model_promises.hpp"

#include <gmock/gmock.h>

namespace rdmove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const SubnetPort kBefore{27, {0xffff, 0, 0x8001, 0x7002}, {"fe80::a", "fe80::b"}};

MATCHER_P2(Says, broken, text, "") {
  return arg.broken == broken && arg.sentence.find(text) != std::string::npos;
}

TEST(ModelPromises, nothing_is_said_about_what_is_as_it_was) {
  for (const Model model : {Model::kSharedPort, Model::kVirtualSwitch, Model::kRoce})
    EXPECT_THAT(comparePorts(model, kBefore, kBefore), IsEmpty());
}

TEST(ModelPromises, more_gids_and_p_keys_than_before_are_nobodys_loss) {
  SubnetPort after = kBefore;
  after.gids.insert(after.gids.begin(), "fe80::c");
  after.pkeys.push_back(0x9009);
  EXPECT_THAT(comparePorts(Model::kVirtualSwitch, kBefore, after), IsEmpty());
}

TEST(ModelPromises, another_gid_breaks_a_virtual_switch_and_is_a_note_on_a_shared_port) {
  SubnetPort after = kBefore;
  after.gids = {"fe80::b", "fe80::c"};
  EXPECT_THAT(comparePorts(Model::kVirtualSwitch, kBefore, after),
              ElementsAre(Says(true, "GID fe80::a is not there")));
  EXPECT_THAT(comparePorts(Model::kSharedPort, kBefore, after),
              ElementsAre(Says(false, "GID fe80::a did not come along")));
  EXPECT_TRUE(allowsNewGids(Model::kSharedPort));
  EXPECT_FALSE(allowsNewGids(Model::kVirtualSwitch));
  EXPECT_FALSE(allowsNewGids(Model::kRoce));
}

TEST(ModelPromises, another_lid_breaks_a_virtual_switch_only) {
  SubnetPort after = kBefore;
  after.lid = 44;
  EXPECT_THAT(comparePorts(Model::kVirtualSwitch, kBefore, after),
              ElementsAre(Says(true, "the LID is 44 and was 27")));
  EXPECT_THAT(comparePorts(Model::kSharedPort, kBefore, after), IsEmpty());
  after.lid = 0;
  EXPECT_THAT(comparePorts(Model::kVirtualSwitch, kBefore, after),
              ElementsAre(Says(true, "no LID yet and had 27")));
  SubnetPort never = kBefore;
  never.lid = 0;
  EXPECT_THAT(comparePorts(Model::kVirtualSwitch, never, kBefore), IsEmpty()) << "there was none to keep";
}

TEST(ModelPromises, p_keys_are_kept_by_index) {
  SubnetPort after = kBefore;
  after.pkeys = {0xffff, 0x8001, 0, 0xf002};
  EXPECT_THAT(
      comparePorts(Model::kSharedPort, kBefore, after),
      ElementsAre(Says(true, "0x8001 is at index 1 and was at 2"), Says(true, "0x7002 came back as 0xf002")));
  after.pkeys = {0xffff};
  EXPECT_THAT(
      comparePorts(Model::kVirtualSwitch, kBefore, after),
      ElementsAre(Says(true, "0x8001 is not there any more"), Says(true, "0x7002 is not there any more")));
}

}  // namespace
}  // namespace rdmove
