#include "coordinator/service/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace rdmove {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kLab = R"toml([daemon]
host = "hosta"
state_dir = "/lab/state"
socket = "/lab/rdmoved.sock"
socket_group = "rdmove"
hook_socket = "/lab/hook.sock"
log_file = "/lab/rdmoved.log"
log_level = "debug"
[libvirt]
uri = "qemu:///system"
[partner_api]
listen = "10.66.0.1:7470"
insecure = true
[partner_api.tls]
ca = "/lab/ca.pem"
server_cert = "/lab/sc.pem"
server_key = "/lab/sk.pem"
client_cert = "/lab/cc.pem"
client_key = "/lab/ck.pem"
[metrics]
listen = "127.0.0.1:9177"

[timeouts]
agent_ms = 1
prepare_ms = 2
unplug_ms = 3
attach_budget_ms = 4
restore_ms = 5
partner_ms = 6
lease_hold_ms = 7
[pools.fabric]
kind = "bridge"
bridge = "br0"
slots = 8
[pools.vfs]
kind = "sriov"
pfs = ["ens1f0", "0000:3b:00.1"]
soft_roce = true
subnet = "mlx5_0/2"
[partners.hostb]
address = "hostb:7470"
san = "hostb.lab"
libvirt_uri = "qemu+tcp://hostb/system"
migration_uri = "tcp://hostb"
stream_tls = true
pools = ["fabric"]
)toml";

TEST(Config, every_key_arrives) {
  const auto parsed = parseConfig(kLab, "lab.toml");
  ASSERT_TRUE(parsed) << parsed.error().sentence();
  const Config& config = *parsed;
  EXPECT_EQ(config.host, HostName("hosta"));
  EXPECT_EQ(config.state_dir, "/lab/state");
  EXPECT_EQ(config.socket, "/lab/rdmoved.sock");
  EXPECT_EQ(config.metrics_listen, "127.0.0.1:9177");
  EXPECT_EQ(config.hook_socket, "/lab/hook.sock");
  EXPECT_EQ(config.log_file, "/lab/rdmoved.log");
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.partner_listen, "10.66.0.1:7470");
  EXPECT_TRUE(config.insecure);
  EXPECT_EQ(config.tls.ca, "/lab/ca.pem");
  EXPECT_EQ(config.tls.server_cert, "/lab/sc.pem");
  EXPECT_EQ(config.tls.server_key, "/lab/sk.pem");
  EXPECT_EQ(config.tls.client_cert, "/lab/cc.pem");
  EXPECT_EQ(config.tls.client_key, "/lab/ck.pem");
  EXPECT_EQ(config.timeouts.agent, 1ms);
  EXPECT_EQ(config.timeouts.prepare, 2ms);
  EXPECT_EQ(config.timeouts.unplug, 3ms);
  EXPECT_EQ(config.timeouts.attach_budget, 4ms);
  EXPECT_EQ(config.timeouts.restore, 5ms);
  EXPECT_EQ(config.timeouts.partner, 6ms);
  EXPECT_EQ(config.timeouts.lease_hold, 7ms);
  EXPECT_EQ(config.pools.at(PoolName("fabric")).bridge, "br0");
  EXPECT_EQ(config.pools.at(PoolName("fabric")).slots, 8);
  EXPECT_EQ(config.pools.at(PoolName("vfs")).kind, PoolConfig::Kind::kSriov);
  EXPECT_EQ(config.pools.at(PoolName("vfs")).pfs.size(), 2U);
  EXPECT_TRUE(config.pools.at(PoolName("vfs")).soft_roce);
  EXPECT_FALSE(config.pools.at(PoolName("fabric")).soft_roce);
  EXPECT_EQ(config.pools.at(PoolName("vfs")).subnet_adapter, "mlx5_0");
  EXPECT_EQ(config.pools.at(PoolName("vfs")).subnet_port, 2);
  const PartnerConfig& partner = config.partners.at(HostName("hostb"));
  EXPECT_EQ(partner.address, "hostb:7470");
  EXPECT_EQ(partner.san, "hostb.lab");
  EXPECT_EQ(partner.libvirt_uri, "qemu+tcp://hostb/system");
  EXPECT_EQ(partner.migration_uri, "tcp://hostb");
  EXPECT_TRUE(partner.stream_tls);
  EXPECT_EQ(partner.pools, std::vector{PoolName("fabric")});
}

TEST(Config, a_host_is_enough) {
  const auto config = parseConfig("daemon.host = 'hosta'", "f");
  ASSERT_TRUE(config) << config.error().sentence();
  EXPECT_EQ(config->state_dir, "/var/lib/rdmove");
  EXPECT_EQ(config->tls.ca, "/etc/pki/CA/cacert.pem");
  EXPECT_EQ(config->timeouts.prepare, 2000ms);
  EXPECT_TRUE(config->partner_listen.empty());
}

TEST(Config, a_partners_name_is_its_default_certificate_and_libvirt) {
  const auto config =
      parseConfig("daemon.host = 'a'\n[partners.b]\naddress = '[fd00::2]:7470'\npools = []", "f");
  ASSERT_TRUE(config) << config.error().sentence();
  EXPECT_EQ(config->partners.at(HostName("b")).san, "b");
  EXPECT_EQ(config->partners.at(HostName("b")).libvirt_uri, "qemu+tls://b/system");
}

TEST(Config, the_example_file_is_right) {
  const auto config = readConfig(RDMOVE_EXAMPLE_CONFIG);
  ASSERT_TRUE(config) << config.error().sentence();
  EXPECT_EQ(config->pools.size(), 2U);
}

// What the example comments out are the defaults: with the comment signs gone it says the same.
TEST(Config, the_examples_comments_are_the_defaults) {
  std::ifstream file(RDMOVE_EXAMPLE_CONFIG);
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const bool key = line.starts_with("# ") && line.find(" = ") != std::string::npos &&
                     line.find("insecure") == std::string::npos;
    text += (key || line.starts_with("# [") ? line.substr(2) : line) + "\n";
  }
  const auto bare = readConfig(RDMOVE_EXAMPLE_CONFIG);
  const auto full = parseConfig(text, "example");
  ASSERT_TRUE(full) << full.error().sentence();
  EXPECT_EQ(full->state_dir, bare->state_dir);
  EXPECT_EQ(full->socket, bare->socket);
  EXPECT_EQ(full->socket_group, bare->socket_group);
  EXPECT_EQ(full->hook_socket, bare->hook_socket);
  EXPECT_EQ(full->log_level, bare->log_level);
  EXPECT_EQ(full->libvirt_uri, bare->libvirt_uri);
  EXPECT_EQ(full->tls.client_key, bare->tls.client_key);
  EXPECT_EQ(full->timeouts.agent, bare->timeouts.agent);
  EXPECT_EQ(full->timeouts.unplug, bare->timeouts.unplug);
  EXPECT_EQ(full->timeouts.attach_budget, bare->timeouts.attach_budget);
  EXPECT_EQ(full->timeouts.restore, bare->timeouts.restore);
  EXPECT_EQ(full->timeouts.lease_hold, bare->timeouts.lease_hold);
}

TEST(Config, the_page_names_every_key) {
  std::ifstream file(RDMOVE_CONFIG_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const char* key :
       {"host",        "state_dir",  "socket",        "socket_group", "hook_socket", "log_file",      "log_level",
        "uri",         "listen",     "insecure",      "ca",           "server_cert",   "server_key",
        "client_cert", "client_key", "agent_ms",      "prepare_ms",   "unplug_ms",     "attach_budget_ms",
        "restore_ms",  "partner_ms", "lease_hold_ms", "kind",         "bridge",        "slots",
        "pfs",         "address",    "san",           "libvirt_uri",  "migration_uri", "stream_tls",
        "pools",       "soft_roce",  "subnet"}) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(key) + "`"));
  }
}

struct Wrong {
  const char* text;  // after "[daemon]\nhost = 'a'\n", so that its first line is line 3
  const char* begins;
  const char* says;
};
class WrongConfig : public testing::TestWithParam<Wrong> {};

TEST_P(WrongConfig, is_refused_with_its_place_and_key) {
  const auto config = parseConfig(std::string("[daemon]\nhost = 'a'\n") + GetParam().text, "f.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(config.error().cause, StartsWith(GetParam().begins));
  EXPECT_THAT(config.error().cause, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Grid, WrongConfig,
    testing::Values(
        Wrong{"colour = 'red'",
              "f.toml:3:1: daemon.colour: ", "no such key; expected one of host, state_dir"},
        Wrong{"[demon]\n", "f.toml:3:", "demon: there is no such key"},
        Wrong{"state_dir = 'relative'",
              "f.toml:3:1: daemon.state_dir: ", "expected an absolute path, found \"relative\""},
        Wrong{"state_dir = 5", "f.toml:3:1: daemon.state_dir: ", "found the number 5"},
        Wrong{"log_level = 'loud'", "f.toml:3:1: daemon.log_level: ", "trace, debug, info"},
        Wrong{"log_file = 'x.log'", "f.toml:3:1: daemon.log_file: ", "absolute"},
        Wrong{"[libvirt]\nuri = 'system'", "f.toml:4:1: libvirt.uri: ", "qemu:///system"},
        Wrong{"[libvirt]\nurl = 'x'", "f.toml:4:1: libvirt.url: ", "expected one of uri"},
        Wrong{"[partner_api]\ninsecure = true",
              "f.toml:3:", "partner_api.listen: expected host:port, found nothing"},
        Wrong{"[partner_api]\nlisten = '10.0.0.1'", "f.toml:4:1: partner_api.listen: ", "expected host:port"},
        Wrong{"[partner_api]\nlisten = 'h:1'\ninsecure = 'yes'",
              "f.toml:5:1: partner_api.insecure: ", "true or false"},
        Wrong{"[partner_api]\nlisten = 'h:1'\n[partner_api.tls]\nca = 'ca.pem'",
              "f.toml:6:1: partner_api.tls.ca: ", "absolute"},
        Wrong{"[timeouts]\nprepare_ms = 0",
              "f.toml:4:1: timeouts.prepare_ms: ", "from 1 to 3600000, found the number 0"},
        Wrong{"[timeouts]\nprepare_ms = 2.5", "f.toml:4:1: timeouts.prepare_ms: ", "found the fraction 2.5"},
        Wrong{"[timeouts]\nprepare = 3", "f.toml:4:1: timeouts.prepare: ", "prepare_ms"},
        Wrong{"pools = 3", "f.toml:3:1: daemon.pools: ", "no such key"},
        Wrong{"[pools]\nfabric = 'br0'", "f.toml:4:1: pools.fabric: ", "expected a table"},
        Wrong{"[pools.p]\nbridge = 'br0'",
              "f.toml:3:", "pools.p.kind: expected \"bridge\" or \"sriov\", found nothing"},
        Wrong{"[pools.p]\nkind = 'tap'", "f.toml:4:1: pools.p.kind: ", "found \"tap\""},
        Wrong{"[pools.p]\nkind = 'bridge'", "f.toml:3:", "pools.p.bridge: expected the name of a bridge"},
        Wrong{"[pools.p]\nkind = 'bridge'\nbridge = 'a-name-far-too-long'",
              "f.toml:5:1: pools.p.bridge: ", "15"},
        Wrong{"[pools.p]\nkind = 'bridge'\nbridge = 'b'\nslots = 1025",
              "f.toml:6:1: pools.p.slots: ", "1 to 1024"},
        Wrong{"[pools.p]\nkind = 'bridge'\nbridge = 'b'\npfs = ['x']",
              "f.toml:6:1: pools.p.pfs: ", "no such key"},
        Wrong{"[pools.p]\nkind = 'sriov'\npfs = ['x']\nsoft_roce = 1",
              "f.toml:6:1: pools.p.soft_roce: ", "true or false"},
        Wrong{"[pools.p]\nkind = 'bridge'\nbridge = 'b'\nsoft_roce = true",
              "f.toml:6:1: pools.p.soft_roce: ", "no such key"},
        Wrong{"[pools.p]\nkind = 'sriov'\npfs = []", "f.toml:5:1: pools.p.pfs: ", "an empty list"},
        Wrong{"[pools.p]\nkind = 'sriov'\npfs = [1]", "f.toml:5:1: pools.p.pfs: ", "the number 1 in it"},
        Wrong{"[pools.p]\nkind = 'sriov'\npfs = ['x', 'x']", "f.toml:5:1: pools.p.pfs: ", "twice"},
        Wrong{"[pools.p]\nkind = 'sriov'\npfs = ['0000:3B:00.0']", "f.toml:5:1: pools.p.pfs: ", "PCI"},
        Wrong{"[pools.p]\nkind = 'bridge'\nbridge = 'b'\n[pools.q]\nkind = 'bridge'\nbridge = 'b'",
              "f.toml:8:1: pools.q.bridge: ", "belongs to pool p"},
        Wrong{"[partners.b]\npools = []",
              "f.toml:3:", "partners.b.address: expected host:port, found nothing"},
        Wrong{"[partners.b]\naddress = 'b:70000'\npools = []",
              "f.toml:4:1: partners.b.address: ", "host:port"},
        Wrong{"[partners.a]\naddress = 'x:1'\npools = []",
              "f.toml:4:1: partners.a.address: ", "is this host"},
        Wrong{"[partner_api]\nlisten = 'x:1'\n[partners.b]\naddress = 'x:1'\npools = []",
              "f.toml:6:1: partners.b.address: ", "itself listens"},
        Wrong{"[partners.b]\naddress = 'b:1'\npools = ['no']",
              "f.toml:5:1: partners.b.pools: ", "no pool \"no\""},
        Wrong{"[partners.b]\naddress = 'b:1'", "f.toml:3:", "partners.b.pools: expected a list"},
        Wrong{"[partners.b]\naddress = 'b:1'\npools = []\nlibvirt_uri = 'qemu:///system'",
              "f.toml:6:1: partners.b.libvirt_uri: ", "remote"},
        Wrong{"state_dir = ", "f.toml:3:", ""}, Wrong{"host = 'again'", "f.toml:3:", ""}));

TEST(Config, without_a_host_it_is_refused) {
  EXPECT_THAT(parseConfig("", "f").error().sentence(),
              HasSubstr("daemon: expected a table [daemon] with `host`"));
  EXPECT_THAT(parseConfig("[daemon]\nhost = ''", "f").error().sentence(),
              HasSubstr("f:2:1: daemon.host: expected"));
  EXPECT_THAT(parseConfig("[daemon]\nhost = 'a b'", "f").error().sentence(),
              HasSubstr("f:2:1: daemon.host: expected"));
}

TEST(Config, a_file_that_is_not_there_is_named) {
  const auto config = readConfig("/nonexistent/rdmoved.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(config.error().sentence(), HasSubstr("/nonexistent/rdmoved.toml: No such file"));
  EXPECT_FALSE(readConfig("/"));
}

}  // namespace
}  // namespace rdmove
