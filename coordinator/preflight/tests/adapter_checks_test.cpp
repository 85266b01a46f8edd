#include "coordinator/preflight/adapter_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PfInfo adapter() {
  PfInfo pf;
  pf.netdev = "ens1f0np0";
  pf.driver = "mlx5_core";
  pf.firmware = "20.31.1014";
  pf.mtu = 9000;
  pf.speed_mbit = 100000;
  return pf;
}

std::vector<std::string> codes(const PfInfo& source, const PfInfo& here) {
  std::vector<std::string> all;
  for (const Finding& finding : compareAdapters(adapterOf(DeviceAlias("ua-rdma0"), source), here, "hostb")) {
    EXPECT_EQ(finding.severity, Severity::kWarning);
    EXPECT_EQ(finding.host, "hostb");
    EXPECT_THAT(finding.sentence, HasSubstr("ua-rdma0"));
    EXPECT_THAT(finding.sentence, HasSubstr("ens1f0np0"));
    EXPECT_FALSE(finding.remedy.empty());
    all.push_back(finding.code);
  }
  return all;
}

TEST(CompareAdapters, says_nothing_of_two_that_are_alike_or_not_known) {
  EXPECT_THAT(codes(adapter(), adapter()), IsEmpty());
  PfInfo unknown;
  unknown.netdev = "ens1f0np0";
  EXPECT_THAT(codes(unknown, adapter()), IsEmpty());
  EXPECT_THAT(codes(adapter(), unknown), IsEmpty());
}

TEST(CompareAdapters, names_each_difference) {
  PfInfo other = adapter();
  other.firmware = "20.30.1004";
  EXPECT_THAT(codes(adapter(), other), ElementsAre("other-firmware"));
  other = adapter();
  other.mtu = 1500;
  EXPECT_THAT(codes(adapter(), other), ElementsAre("smaller-mtu"));
  EXPECT_THAT(codes(other, adapter()), IsEmpty());
  other = adapter();
  other.speed_mbit = 25000;
  EXPECT_THAT(codes(adapter(), other), ElementsAre("slower-link"));
  EXPECT_THAT(codes(other, adapter()), IsEmpty());
}

TEST(CompareAdapters, what_is_lossless_at_one_end_is_to_be_so_at_the_other) {
  PfInfo lossless = adapter();
  lossless.pfc = "3";
  PfInfo other = lossless;
  other.pfc = "none";
  EXPECT_THAT(codes(lossless, other), ElementsAre("other-pfc"));
  EXPECT_THAT(codes(lossless, adapter()), ElementsAre("other-pfc")) << "a driver without DCB pauses nothing";
  other = lossless;
  lossless.ets = "class 0 (0,1,2,3,4,5,6,7): strict";
  EXPECT_THAT(codes(lossless, other), IsEmpty());
  other.ets = "class 0 (0,1,2,3,4,5,6,7): ets 100 %";
  EXPECT_THAT(codes(lossless, other), ElementsAre("other-ets"));
}

TEST(CompareAdapters, firmwares_of_two_kinds_are_not_compared) {
  PfInfo other = adapter();
  other.driver = "mlx4_core";
  other.firmware = "2.42.5000";
  EXPECT_THAT(codes(adapter(), other), ElementsAre("other-driver"));
}

TEST(CompareClocks, tell_which_is_behind) {
  const auto now = std::chrono::system_clock::time_point(std::chrono::hours(500000));
  EXPECT_THAT(compareClocks(now, now + std::chrono::milliseconds(1500), "hostb"), IsEmpty());
  const auto before = compareClocks(now, now + std::chrono::seconds(90), "hostb");
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ(before[0].code, "clocks");
  EXPECT_THAT(before[0].sentence, HasSubstr("90.0 s before"));
  EXPECT_THAT(compareClocks(now, now - std::chrono::seconds(3), "hostb")[0].sentence,
              HasSubstr("3.0 s behind"));
}

}  // namespace
}  // namespace rdmove
