#include "shadowdev/model/text.hpp"

#include <gmock/gmock.h>

#include "shadowdev/model/tests/sample.hpp"

namespace rdmove::shadow::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Text, hasALineForEveryObject) {
  const std::string text = dump(test::sample(), false);
  for (const char* begin :
       {"context 1: ", "pd 2: ", "mr 3: ", "channel 4: ", "cq 5: ", "srq 6: ", "ah 7: ", "qp 8: ", "cm 9: "})
    EXPECT_THAT(text, HasSubstr(begin));
  EXPECT_THAT(text, HasSubstr("receives=[1]"));
  EXPECT_THAT(dump(test::sample(), true), HasSubstr("receives[0].to[0].lkey=0x100"));
}

TEST(Text, saysWhatDiffers) {
  const Process first = test::sample();
  EXPECT_THAT(diff(first, first), IsEmpty());
  Process second = first;
  second.qps[0].receive_psn = PacketSequenceNumber{7};
  second.shells.clear();
  second.qps[0].held.clear();
  const auto said = diff(first, second);
  EXPECT_THAT(said, testing::Contains("qp 8: receive_psn 0 -> 7"));
  EXPECT_THAT(said, testing::Contains("cm 9: only in the first"));
  EXPECT_THAT(said, testing::Contains("qp 8: held[0].wr_id 5 -> nothing"));
  EXPECT_THAT(diff(Process{}, Process{}), ElementsAre());
}

}  // namespace
}  // namespace rdmove::shadow::model
