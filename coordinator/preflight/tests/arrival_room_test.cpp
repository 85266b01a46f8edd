// What a destination says about its pools to a host whose VM is to come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/preflight/examiner.hpp"
#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::NiceMock;
using testing::Return;

const PoolName kPool("vfs");

/// hostb with a pool of two PFs; a VM of hosta wants one of its VFs.
class ArrivalRoom : public testing::Test {
 protected:
  ArrivalRoom() {
    config.host = HostName("hostb");
    PartnerConfig hosta;
    hosta.name = HostName("hosta");
    hosta.pools = {kPool};
    config.partners[hosta.name] = hosta;
    PoolConfig pool;
    pool.name = kPool;
    pool.kind = PoolConfig::Kind::kSriov;
    pool.pfs = {"ens1", "ens2"};
    config.pools[kPool] = pool;
    vf.declaration.alias = DeviceAlias("ua-rdma0");
    vf.declaration.pool = kPool;
    plan.domain = "vm1";
    plan.vfs = {vf};
    ON_CALL(hypervisor, find).WillByDefault(Return(failure(ErrorCode::kNotFound, "find", "no such domain")));
    ON_CALL(hypervisor, list).WillByDefault(Return(std::vector<DomainStatus>()));
    ON_CALL(fabric, hasPool).WillByDefault(Return(true));
  }

  static PfInfo pf(const std::string& netdev) {
    PfInfo info;
    info.pci = "pci-of-" + netdev;
    info.pool = kPool;
    info.netdev = netdev;
    info.rdma = "mlx5_" + netdev;
    info.vfs = 1;
    return info;
  }
  static VfInfo vfOf(const std::string& netdev, const std::string& pci) {
    VfInfo info{VfName(pci), kPool, "sriov", netdev, {}, "vfio-pci", 7};
    info.link_layer = "Ethernet";
    info.pf = "pci-of-" + netdev;
    return info;
  }
  std::vector<std::pair<std::string, Severity>> answer() {
    ON_CALL(fabric, pfs).WillByDefault(Return(pfs));
    ON_CALL(fabric, vfs).WillByDefault(Return(vfs));
    Examiner examiner(loop, hypervisor, fabric, partners, agents, config);
    std::vector<std::pair<std::string, Severity>> out;
    for (const Finding& finding : examiner.examineArrival(plan, HostName("hosta"), {}, facts))
      out.emplace_back(finding.code, finding.severity);
    return out;
  }
  using Answer = std::vector<std::pair<std::string, Severity>>;

  boost::asio::io_context loop;
  NiceMock<FakeHypervisor> hypervisor;
  NiceMock<FakeFabric> fabric;
  NoPartners partners;
  NoAgents links;
  AgentDesk agents{links};
  Config config;
  SourceFacts facts;
  Plan plan;
  MovingVf vf;
  std::vector<PfInfo> pfs = {pf("ens1"), pf("ens2")};
  std::vector<VfInfo> vfs = {vfOf("ens1", "0000:3b:00.2"), vfOf("ens2", "0000:af:00.2")};
};

TEST_F(ArrivalRoom, is_there) {
  EXPECT_EQ(answer(), Answer());
}

TEST_F(ArrivalRoom, what_is_wrong_with_a_pf_whose_vfs_are_not_needed_refuses_nothing) {
  pfs.pop_back();
  vfs.pop_back();
  EXPECT_EQ(answer(), (Answer{{"pf-gone", Severity::kWarning}}));
}

TEST_F(ArrivalRoom, the_pf_whose_vf_it_would_be_has_to_be_right) {
  pfs[0].rdma.clear();
  EXPECT_EQ(answer(), (Answer{{"rdma-off", Severity::kError}}));
}

TEST_F(ArrivalRoom, a_pf_that_is_gone_explains_why_there_is_none) {
  pfs.clear();
  vfs.clear();
  EXPECT_EQ(answer(), (Answer{{"pf-gone", Severity::kError},
                              {"pf-gone", Severity::kError},
                              {"no-free-vf", Severity::kError}}));
}

TEST_F(ArrivalRoom, a_vf_that_vfio_cannot_have_is_passed_over) {
  vfs[0].iommu_group.reset();
  EXPECT_EQ(answer(), (Answer{{"no-iommu", Severity::kWarning}}));
}

TEST_F(ArrivalRoom, the_other_link_layer_is_refused) {
  plan.vfs[0].declaration.model = Model::kVirtualSwitch;
  EXPECT_EQ(answer(), (Answer{{"other-link-layer", Severity::kError}}));
}

TEST_F(ArrivalRoom, the_model_is_the_adapters) {
  plan.vfs[0].declaration.model = Model::kSharedPort;
  vfs[0].link_layer = "InfiniBand";
  vfs[0].pf_driver = "mlx5_core";
  EXPECT_EQ(answer(), (Answer{{"other-model", Severity::kError}}));
  plan.vfs[0].declaration.model = Model::kVirtualSwitch;
  EXPECT_EQ(answer(), Answer());
}

TEST_F(ArrivalRoom, an_address_that_another_domain_there_declares_is_refused) {
  DomainStatus other;
  other.name = "vm2";
  other.uuid = DomainUuid("uuid-of-vm2");
  other.state = DomainState::kShutOff;
  ON_CALL(hypervisor, list).WillByDefault(Return(std::vector<DomainStatus>{other}));
  ON_CALL(hypervisor, metadata)
      .WillByDefault(Return(std::optional<std::string>(
          "<rdma><vf alias='ua-a' pool='p' model='roce'><identity mac='52:54:00:77:00:01'/></vf></rdma>")));
  plan.vfs[0].declaration.identity.mac = MacAddress::parse("52:54:00:77:00:01");
  EXPECT_EQ(answer(), (Answer{{"identity-twice", Severity::kError}}));
}

TEST_F(ArrivalRoom, the_adapter_that_it_would_come_to_is_compared_with_the_one_that_it_leaves) {
  pfs[0].mtu = 1500;
  pfs[1].mtu = 9000;
  facts.adapters = {{DeviceAlias("ua-rdma0"), "", "", 9000, std::nullopt, "", ""}};
  EXPECT_EQ(answer(), (Answer{{"smaller-mtu", Severity::kWarning}}));
  facts.adapters[0].alias = DeviceAlias("ua-other");
  EXPECT_EQ(answer(), Answer());
}

TEST_F(ArrivalRoom, a_source_that_is_not_configured_is_told_so) {
  config.partners.clear();
  EXPECT_EQ(answer(), (Answer{{"unknown-source", Severity::kError}}));
}

TEST_F(ArrivalRoom, a_domain_that_is_there_already_is_refused) {
  DomainStatus there;
  there.name = "vm1";
  there.state = DomainState::kPaused;
  ON_CALL(hypervisor, find).WillByDefault(Return(there));
  EXPECT_EQ(answer(), (Answer{{"domain-there", Severity::kError}}));
}

TEST_F(ArrivalRoom, another_domain_with_its_name_is_refused) {
  plan.uuid = DomainUuid("uuid-of-vm1");
  ON_CALL(hypervisor, find).WillByDefault([](const std::string& name) -> Result<DomainStatus> {
    if (name != "vm1") return failure(ErrorCode::kNotFound, "find", "no such domain");
    DomainStatus namesake;
    namesake.name = "vm1";
    namesake.uuid = DomainUuid("uuid-of-another");
    return namesake;
  });
  EXPECT_EQ(answer(), (Answer{{"name-taken", Severity::kError}}));
}

TEST_F(ArrivalRoom, a_pool_that_is_not_for_that_partner_is_refused) {
  config.partners[HostName("hosta")].pools.clear();
  EXPECT_EQ(answer(), (Answer{{"no-pool-there", Severity::kError}}));
}

TEST_F(ArrivalRoom, a_host_says_what_its_pools_have_and_that_one_has_nothing) {
  PoolConfig bridge;
  bridge.name = PoolName("slots");
  bridge.kind = PoolConfig::Kind::kBridge;
  bridge.bridge = "br0";
  config.pools[bridge.name] = bridge;
  config.partners.clear();
  ON_CALL(fabric, pfs).WillByDefault(Return(pfs));
  ON_CALL(fabric, vfs).WillByDefault(Return(vfs));
  std::map<std::string, Severity> said;
  for (const Finding& finding : Examiner(loop, hypervisor, fabric, partners, agents, config).examineHost())
    said[finding.code] = finding.severity;
  EXPECT_EQ(said.at("pool"), Severity::kOk);
  EXPECT_EQ(said.at("pool-empty"), Severity::kError);
}

TEST_F(ArrivalRoom, a_clock_that_is_hours_off_is_said) {
  facts.clock = std::chrono::system_clock::now() - std::chrono::hours(3);
  EXPECT_EQ(answer(), (Answer{{"clocks", Severity::kWarning}}));
}

TEST_F(ArrivalRoom, a_machine_type_or_cpu_that_is_not_to_be_had_is_refused) {
  facts.machine = {"x86_64", "kvm", "pc-q35-9.2", "<cpu mode='custom'/>", ""};
  EXPECT_CALL(hypervisor, judge).WillOnce([](const GuestMachine& guest) {
    EXPECT_EQ(guest.machine, "pc-q35-9.2");
    EXPECT_EQ(guest.cpu, "<cpu mode='custom'/>");
    return MachineVerdict{"the machine 'pc-q35-9.2' is not supported", "avx512f is missing", ""};
  });
  EXPECT_EQ(answer(), (Answer{{"machine-type", Severity::kError}, {"cpu", Severity::kError}}));
}

// libvirt starts such a guest without a look, and an operator with hosts of several kinds may have his reasons.
TEST_F(ArrivalRoom, of_a_guest_that_sees_its_hosts_cpu_a_warning_is_given) {
  facts.machine = {"x86_64", "kvm", "pc-q35-7.2", "<cpu mode='host-passthrough'/>", "<cpu><model>Host</model></cpu>"};
  EXPECT_CALL(hypervisor, judge).WillOnce(Return(MachineVerdict{"", "", "avx512f is missing"}));
  EXPECT_EQ(answer(), (Answer{{"host-cpu", Severity::kWarning}}));
}

TEST_F(ArrivalRoom, a_source_that_tells_no_machine_is_not_judged) {
  EXPECT_CALL(hypervisor, judge).Times(0);
  EXPECT_EQ(answer(), Answer());
}

TEST_F(ArrivalRoom, a_libvirt_that_cannot_judge_refuses_nothing) {
  facts.machine.machine = "pc-q35-7.2";
  EXPECT_CALL(hypervisor, judge).WillOnce(Return(failure(ErrorCode::kUnavailable, "look", "gone")));
  EXPECT_EQ(answer(), Answer());
}

}  // namespace
}  // namespace rdmove
