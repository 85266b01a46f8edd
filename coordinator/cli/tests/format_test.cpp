#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/cli/format/agent_object.hpp"
#include "coordinator/cli/format/json_formatter.hpp"
#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/text_formatter.hpp"

namespace rdmove::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::MigrationSummary summary() {
  v1::MigrationSummary m;
  m.set_id("vm1-20261130-0a1b2c");
  m.set_role("departure");
  m.set_domain("vm1");
  m.set_partner("hostb");
  m.set_phase("Completed");
  m.set_outcome("Completed");
  m.set_updated_us(1'796'028'187'000'000);
  return m;
}

v1::Finding* add(google::protobuf::RepeatedPtrField<v1::Finding>* findings, v1::Finding::Severity severity,
                 const std::string& code) {
  v1::Finding* finding = findings->Add();
  finding->set_severity(severity);
  finding->set_code(code);
  finding->set_host("hostb");
  finding->set_sentence("pool fabric has no free VF");
  return finding;
}

TEST(TextOutput, lists_migrations) {
  v1::ListReply reply;
  EXPECT_EQ(TextFormatter(80).format(reply), "no migrations\n");
  *reply.add_migrations() = summary();
  EXPECT_EQ(TextFormatter(80).format(reply),
            "ID                   ROLE       VM   PARTNER  PHASE      OUTCOME    UPDATED\n"
            "vm1-20261130-0a1b2c  departure  vm1  hostb    Completed  Completed  2026-11-30 08:43:07Z\n");
}

TEST(TextOutput, the_worst_finding_comes_first_with_its_remedy) {
  v1::DoctorReply reply;
  add(reply.mutable_findings(), v1::Finding::OK, "agent");
  add(reply.mutable_findings(), v1::Finding::ERROR, "no-free-vf")->set_remedy("Add VFs to the pool.");
  EXPECT_EQ(TextFormatter(80).format(reply),
            "error    no-free-vf (hostb): pool fabric has no free VF\n"
            "         Add VFs to the pool.\n"
            "ok       agent (hostb): pool fabric has no free VF\n"
            "2 checks: 1 errors, 0 warnings\n");
}

v1::VfStatus sriovVf() {
  v1::VfStatus vf;
  vf.set_name("0000:3b:00.2");
  vf.set_pool("ib");
  vf.set_kind("sriov");
  vf.set_parent("ib0");
  vf.set_driver("mlx5_core");
  vf.set_state("busy");
  vf.set_pf("0000:3b:00.0");
  vf.set_rdma("mlx5_10");
  vf.set_link_layer("InfiniBand");
  vf.set_firmware("20.31.1014");
  vf.set_numa_node(0);
  vf.set_iommu_group(42);
  auto* user = vf.add_users();
  user->set_pid(812);
  user->set_name("ib_write_bw");
  user->set_what("/dev/infiniband/uverbs10");
  return vf;
}

v1::PfStatus pf() {
  v1::PfStatus pf;
  pf.set_pci("0000:3b:00.0");
  pf.set_pool("ib");
  pf.set_netdev("ib0");
  pf.set_rdma("mlx5_0");
  pf.set_link_layer("InfiniBand");
  pf.set_driver("mlx5_core");
  pf.set_firmware("20.31.1014");
  pf.set_vfs(2);
  pf.set_most_vfs(64);
  return pf;
}

TEST(TextOutput, lists_vfs_with_whoever_has_them_and_then_their_pfs) {
  v1::ListVfsReply reply;
  EXPECT_THAT(TextFormatter(80).format(reply), HasSubstr("no VFs"));
  auto* slot = reply.add_vfs();
  slot->set_name("br0#0");
  slot->set_pool("fabric");
  slot->set_kind("bridge");
  slot->set_parent("br0");
  slot->set_state("attached");
  slot->set_domain("vm1");
  EXPECT_EQ(TextFormatter(80).format(reply),
            "VF     POOL    KIND    PARENT  MAC  DRIVER  RDMA  NUMA  STATE     USED BY\n"
            "br0#0  fabric  bridge  br0     -    -       -     -     attached  vm1\n")
      << "no PFs, no second table";
  *reply.add_vfs() = sriovVf();
  *reply.add_pfs() = pf();
  const std::string text = TextFormatter(80).format(reply);
  EXPECT_THAT(text, HasSubstr("mlx5_10  0     busy      ib_write_bw (pid 812)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("0000:3b:00.0  ib    ib0     mlx5_0  InfiniBand  mlx5_core  20.31.1014  -     2 of 64"));
  reply.mutable_pfs(0)->clear_rdma();
  EXPECT_THAT(TextFormatter(80).format(reply), HasSubstr("ib0     off   InfiniBand"));
}

TEST(TextOutput, shows_all_of_a_vf) {
  v1::ShowVfReply reply;
  *reply.mutable_vf() = sriovVf();
  *reply.mutable_pf() = pf();
  auto* told = reply.add_told();
  told->set_name("port-guid");
  told->set_value("00:02:c9:03:00:0a:1b:2d");
  auto* before = reply.add_before();
  before->set_name("link");
  before->set_value("auto\x1b[31m");
  EXPECT_EQ(TextFormatter(80).format(reply),
            "vf           0000:3b:00.2\n"
            "pool         ib (sriov)\n"
            "state        busy\n"
            "opened by    ib_write_bw (pid 812), /dev/infiniband/uverbs10\n"
            "function     VF 0 of ib0 (0000:3b:00.0)\n"
            "driver       mlx5_core\n"
            "rdma device  mlx5_10\n"
            "link layer   InfiniBand\n"
            "firmware     20.31.1014\n"
            "numa node    0\n"
            "iommu group  42\n"
            "pf           mlx5_core ib0 mlx5_0, 2 of 64 VFs\n"
            "told by the driver\n"
            "  port-guid  00:02:c9:03:00:0a:1b:2d\n"
            "before it was given an identity\n"
            "  link  " +
                printable("auto\x1b[31m") + "\n");
}

TEST(TextOutput, a_plan_is_a_sentence_and_its_vfs) {
  v1::ExamineReply reply;
  v1::PlanSummary& plan = *reply.mutable_plan();
  plan.set_domain("vm1");
  plan.set_uuid("u");
  plan.set_source("hosta");
  plan.set_destination("hostb");
  plan.set_persistent(true);
  v1::PlannedVf& vf = *plan.add_vfs();
  vf.set_alias("ua-rdma0");
  vf.set_pool("fabric");
  EXPECT_EQ(TextFormatter(80).format(reply),
            "vm1 (u) from hosta to hostb, persistent\n"
            "  ALIAS     POOL    MODEL  CONTINUITY  MAC  GUEST PCI  VF\n"
            "  ua-rdma0  fabric  -      -           -    -          -\n");
}

TEST(TextOutput, the_closing_sentence_ends_with_the_migration) {
  v1::MigrationUpdate update;
  *update.mutable_migration() = summary();
  EXPECT_EQ(closingSentence(update), "vm1 runs on hostb. migration vm1-20261130-0a1b2c");
  update.set_message("vm1 runs on hostb; ua-rdma0 is back.");
  EXPECT_EQ(closingSentence(update), "vm1 runs on hostb; ua-rdma0 is back. migration vm1-20261130-0a1b2c");
  update.set_message("migration vm1-20261130-0a1b2c is done");
  EXPECT_EQ(closingSentence(update), "migration vm1-20261130-0a1b2c is done");
  update.set_message("");
  update.mutable_migration()->set_outcome("RolledBack");
  update.mutable_migration()->set_error("cannot detach ua-rdma0: holdout perftest (pid 7).");
  EXPECT_EQ(closingSentence(update),
            "vm1 was not moved, all is as it was: cannot detach ua-rdma0: holdout perftest "
            "(pid 7). migration vm1-20261130-0a1b2c");
}

TEST(JsonOutput, has_the_protos_names_and_all_fields) {
  v1::ListReply reply;
  EXPECT_EQ(JsonFormatter().format(reply), "{\"migrations\":[],\"evacuations\":[]}\n");
  *reply.add_migrations() = summary();
  EXPECT_EQ(JsonFormatter().format(reply),
            "{\"migrations\":[{\"id\":\"vm1-20261130-0a1b2c\",\"role\":\"departure\",\"domain\":\"vm1\","
            "\"uuid\":\"\","
            "\"partner\":\"hostb\",\"phase\":\"Completed\",\"outcome\":\"Completed\",\"error\":\"\","
            "\"created_us\":\"0\",\"updated_us\":\"1796028187000000\"}],\"evacuations\":[]}\n");
}

TEST(AgentOutput, is_the_agents_own_object) {
  EXPECT_EQ(agentObjectAsJson("{ \"b\": 1,\n \"a\": [ ] }"), "{\"b\":1,\"a\":[]}\n");
  EXPECT_EQ(agentObjectAsText(
                R"({"version":"1","devices":[{"name":"rxe0","mtu":1024},{"name":"rxe1"}],"x":{"y":[]}})"),
            "version: 1\ndevices:\n  name  mtu\n  rxe0  1024\n  rxe1  -\nx:\n  y: none\n");
}

TEST(AgentOutput, bears_what_a_hostile_guest_says) {
  EXPECT_EQ(agentObjectAsJson("nonsense"), "{\"unreadable\":\"nonsense\"}\n");
  const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
  EXPECT_THAT(agentObjectAsJson(deep), testing::StartsWith("{\"unreadable\""));
  EXPECT_THAT(agentObjectAsText(deep), testing::StartsWith("the agent's answer cannot be read"));
  EXPECT_THAT(agentObjectAsText(R"({"a":"\u001b[2J","\u001b":1})"), Not(HasSubstr("\x1b")));
  EXPECT_EQ(agentObjectAsJson("{\"a\":\"\xff\"}").find('\xff'), std::string::npos);
  EXPECT_EQ(agentObjectAsText("[{}]"), "");
  for (const char* scalar : {"1", "null", "\"x\"", "{}", "[]", "[1,2]"})
    EXPECT_FALSE(agentObjectAsText(scalar).empty());
}

TEST(Printable, numbers_and_times) {
  EXPECT_EQ(byteCount(0), "0 B");
  EXPECT_EQ(byteCount(1536), "1.5 KiB");
  EXPECT_EQ(byteCount(~0ULL), "16.0 EiB");
  EXPECT_EQ(wallTime(0), "-");
  EXPECT_EQ(wallTime(-5), "-");
  EXPECT_EQ(wallTime(9'223'372'036'854'775'807LL), "-");
}

}  // namespace
}  // namespace rdmove::cli
