#include "coordinator/cli/values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/cli/vf_spec.hpp"

namespace rdmove::cli {
namespace {

using testing::HasSubstr;

struct NumberCase {
  std::string text;
  std::uint32_t value;  // 0: an error
  std::string error;
};

void PrintTo(const NumberCase& c, std::ostream* out) {
  *out << "text " << c.text;
}

class Numbers : public testing::TestWithParam<NumberCase> {};

TEST_P(Numbers, are_read_strictly) {
  const auto number = readNumber(GetParam().text, {1, 255, "things"});
  if (GetParam().value != 0) {
    ASSERT_TRUE(number) << number.error();
    EXPECT_EQ(*number, GetParam().value);
  } else {
    ASSERT_FALSE(number) << *number;
    EXPECT_EQ(number.error(), GetParam().error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, Numbers,
    testing::Values(NumberCase{"1", 1, ""}, NumberCase{"255", 255, ""}, NumberCase{"007", 7, ""},
                    NumberCase{"0", 0, "0 is too small; give 1 to 255 things"},
                    NumberCase{"-1", 0, "-1 is negative; give 1 to 255 things"},
                    NumberCase{"256", 0, "256 is too large; give 1 to 255 things"},
                    NumberCase{"99999999999999999999999", 0,
                               "99999999999999999999999 is too large; give 1 to 255 things"},
                    NumberCase{"", 0, "'' is not a whole number; give 1 to 255 things"},
                    NumberCase{"-", 0, "'-' is not a whole number; give 1 to 255 things"},
                    NumberCase{"+1", 0, "'+1' is not a whole number; give 1 to 255 things"},
                    NumberCase{" 1", 0, "' 1' is not a whole number; give 1 to 255 things"},
                    NumberCase{"1.5", 0, "'1.5' is not a whole number; give 1 to 255 things"},
                    NumberCase{"1e2", 0, "'1e2' is not a whole number; give 1 to 255 things"},
                    NumberCase{"0x10", 0, "'0x10' is not a whole number; give 1 to 255 things"},
                    NumberCase{"ten", 0, "'ten' is not a whole number; give 1 to 255 things"}));

TEST(Names, are_one_to_255_bytes_without_control_characters) {
  for (const char* good : {"vm1", "a b", "über", "list", "6f1c9c3e-0000-4000-8000-000000000001"})
    EXPECT_TRUE(readName(good));
  EXPECT_TRUE(readName(std::string(255, 'x')));
  for (const std::string& bad :
       {std::string(), std::string(256, 'x'), std::string("a\nb"), std::string("-x")}) {
    EXPECT_FALSE(readName(bad)) << bad;
  }
}

TEST(Macs, are_unicast_addresses) {
  EXPECT_EQ(readMac("52:54:00:77:00:0A")->str(), "52:54:00:77:00:0a");
  for (const char* bad :
       {"", "52:54:00:77:00", "52-54-00-77-00-01", "52:54:00:77:00:01:02", "zz:54:00:77:00:01",
        "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"}) {
    EXPECT_FALSE(readMac(bad)) << bad;
  }
}

TEST(Uris, have_a_scheme_and_more) {
  for (const char* good : {"tcp://hostb:49152", "tcp:hostb", "unix:///run/x.sock"})
    EXPECT_TRUE(readUri(good)) << good;
  for (const char* bad : {"", "hostb", ":x", "tcp:", "1tcp:x", "t p:x", "tcp:a\nb"})
    EXPECT_FALSE(readUri(bad)) << bad;
}

TEST(SocketPaths, fit_a_unix_address) {
  EXPECT_TRUE(readSocketPath(std::string(107, 's')));
  EXPECT_FALSE(readSocketPath(std::string(108, 's')));
  EXPECT_FALSE(readSocketPath(""));
}

TEST(VfSpecs, read_every_key) {
  const auto spec = readVfSpec("mac=52:54:00:77:00:01,continuity=park,model=roce,pool=fabric,alias=ua-rdma0");
  ASSERT_TRUE(spec) << spec.error();
  EXPECT_EQ(spec->alias.str(), "ua-rdma0");
  EXPECT_EQ(spec->pool.str(), "fabric");
  EXPECT_EQ(spec->model, Model::kRoce);
  EXPECT_EQ(spec->continuity, Continuity::kPark);
  EXPECT_EQ(spec->mac->str(), "52:54:00:77:00:01");
  EXPECT_FALSE(readVfSpec("alias=ua-a,pool=f")->model);
}

TEST(VfSpecs, read_an_infiniband_identity) {
  const auto spec = readVfSpec(
      "alias=ua-ib0,pool=ib,node-guid=0x0002c903000a1b2c,port-guid=00:02:c9:03:00:0a:1b:2d,"
      "pkeys=0xffff/0x8001,vlan=7");
  ASSERT_TRUE(spec) << spec.error();
  EXPECT_EQ(spec->node_guid->str(), "00:02:c9:03:00:0a:1b:2c");
  EXPECT_EQ(spec->port_guid->str(), "00:02:c9:03:00:0a:1b:2d");
  EXPECT_EQ(toString(spec->pkeys), "0xffff 0x8001");
  EXPECT_EQ(spec->vlan, 7U);
  EXPECT_TRUE(spec->settings.empty());
}

TEST(VfSpecs, pass_on_what_the_daemon_reads) {
  const auto spec = readVfSpec("alias=ua-a,pool=f,trust=on,max-rate=100,vlan=7,vlan-protocol=802.1ad");
  ASSERT_TRUE(spec) << spec.error();
  EXPECT_EQ(spec->settings, (std::map<std::string, std::string>{
                                {"trust", "on"}, {"max-rate", "100"}, {"vlan-protocol", "802.1ad"}}));
}

TEST(VfSpecs, say_what_is_wrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "'' is not KEY=VALUE"},
      {"alias=ua-a,", "'' is not KEY=VALUE"},
      {"alias=ua-a", "pool is missing"},
      {"pool=f", "alias is missing"},
      {"alias=ua-a,pool=f,colour=red",
       "'colour' is not a key; the keys are alias, pool, model, continuity, mac, vlan, node-guid, "
       "port-guid, pkeys, trust, spoof-check, link, min-rate, max-rate, vlan-priority, vlan-protocol"},
      {"alias=ua-a,pool=f,trust=", "trust has no value"},
      {"alias=ua-a,pool=f,trust=on,trust=off", "'trust' is given twice"},
      {"alias=ua-a,alias=ua-b,pool=f", "'alias' is given twice"},
      {"alias=rdma0,pool=f", "'rdma0' is not a user alias of libvirt"},
      {"alias=ua-,pool=f", "'ua-' is not a user alias"},
      {"alias=ua-a b,pool=f", "'ua-a b' is not a user alias"},
      {"alias=ua-a,pool=", "pool: the name is empty"},
      {"alias=ua-a,pool=f,model=x", "'x' is not a model; give shared-port, virtual-switch or roce"},
      {"alias=ua-a,pool=f,continuity=", "'' is not a continuity; give reconnect, park or carry"},
      {"alias=ua-a,pool=f,mac=1", "'1' is not a MAC address"},
      {"alias=ua-a,pool=f,mac=01:00:5e:00:00:01", "multicast"},
      {"alias=ua-a,pool=f,vlan=4095", "vlan: "},
      {"alias=ua-a,pool=f,port-guid=00:02:c9", "port-guid: '00:02:c9' has 6 digits and not 16"},
      {"alias=ua-a,pool=f,node-guid=0x0000000000000000", "is all zeros"},
      {"alias=ua-a,pool=f,pkeys=0xffff/8001", "pkeys: '8001' is no P_Key"},
  };
  for (const auto& [text, problem] : cases) {
    const auto spec = readVfSpec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_THAT(spec.error(), HasSubstr(problem)) << text;
  }
}

TEST(Duration, has_a_unit_or_is_in_seconds) {
  EXPECT_EQ(readDuration("90", kHold), std::chrono::seconds(90));
  EXPECT_EQ(readDuration("90s", kHold), std::chrono::seconds(90));
  EXPECT_EQ(readDuration("10m", kHold), std::chrono::minutes(10));
  EXPECT_EQ(readDuration("24h", kHold), std::chrono::hours(24));
  for (const char* text :
       {"", "m", "0", "0m", "-1m", "1d", "25h", "1.5h", "4294967296", "99999999999999999999h", "1 h"})
    EXPECT_FALSE(readDuration(text, kHold)) << text;
}

}  // namespace
}  // namespace rdmove::cli
