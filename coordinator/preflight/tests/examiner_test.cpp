// What the host of a VM finds wrong, and how it hears of the partner: one line for each thing, by its code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <thread>

#include "coordinator/preflight/examiner.hpp"
#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::NiceMock;
using testing::Return;

/// A guest's agent that names these, or is silent.
class FakeAgent : public AgentLink {
 public:
  explicit FakeAgent(const std::optional<std::vector<Holdout>>& holdouts) : holdouts_(holdouts) {}
  void prepare(const MigrationId&, const std::vector<AgentDevice>&, Milliseconds, bool, Done<PrepareOutcome>) override {}
  void restore(const MigrationId&, const std::vector<AgentDevice>&, Milliseconds, Done<RestoreOutcome>) override {}
  void holdouts(Milliseconds, Done<std::vector<Holdout>> done) override {
    if (holdouts_) return done(*holdouts_);
    done(failure(ErrorCode::kTimeout, "ask the agent", "it does not answer"));
  }
  void traffic(Milliseconds, Done<Traffic>) override {}
  void applications(Milliseconds, Done<std::vector<AgentApplication>>) override {}
  void query(const std::string&, Milliseconds, Done<std::string>) override {}

 private:
  const std::optional<std::vector<Holdout>>& holdouts_;
};

class FakePartner : public Partner {
 public:
  Result<void> said{};  // to the greeting
  Result<std::vector<Finding>> found{std::vector<Finding>()};
  Result<void> hello() override { return said; }
  Result<std::vector<Finding>> examine(const Plan&, const SourceFacts&) override { return found; }
  Result<HostRoom> room() override { return HostRoom(); }
  Result<std::vector<LeasedVf>> reserve(const Plan&, std::chrono::milliseconds) override {
    return std::vector<LeasedVf>();
  }
  Result<void> releaseIdentity(const MigrationId&, const Traffic&) override { return {}; }
  Result<WithdrawAnswer> withdraw(const MigrationId&, bool) override { return WithdrawAnswer(); }
  std::unique_ptr<Following> follow(const MigrationId&, std::function<void(ArrivalReport)>,
                                    std::function<void(Error)>) override {
    return nullptr;
  }
};

/// A VM with nothing wrong that is to go to a host with nothing wrong, for a case to spoil.
struct Vm {
  Result<DomainStatus> status = DomainStatus{"vm1", DomainUuid("uuid-of-vm1"), DomainState::kRunning, RunReason::kOther,
                                             true,  false, "running"};
  std::optional<std::string> metadata =
      "<rdma><vf alias='ua-rdma0' pool='vfs' model='roce'><identity mac='52:54:00:77:00:01'/></vf></rdma>";
  std::string memory = "<memory unit='KiB'>4194304</memory>";
  std::string device =
      "<interface type='hostdev'><mac address='52:54:00:77:00:01'/><source><address type='pci' domain='0x0000' "
      "bus='0x3b' slot='0x00' function='0x2'/></source><alias name='ua-rdma0'/><address type='pci' domain='0x0000' "
      "bus='0x05' slot='0x00' function='0x0'/></interface>";
  Result<VfName> place = VfName("0000:3b:00.2");
  std::optional<std::vector<Holdout>> holdouts{std::in_place};
  std::string destination = "hostb";
  std::vector<PoolName> shared = {PoolName("vfs")};
  FakePartner partner{};

  [[nodiscard]] std::string xml() const {
    return "<domain>" + memory + "<devices>" + device + "</devices></domain>";
  }
};

std::vector<std::string> codesOf(Vm vm) {
  struct Agents : AgentLinks {
    explicit Agents(const Vm& of) : vm(of) {}
    std::unique_ptr<AgentLink> open(const DomainUuid&) override { return std::make_unique<FakeAgent>(vm.holdouts); }
    const Vm& vm;
  } links(vm);
  NiceMock<FakeHypervisor> hypervisor;
  NiceMock<FakeFabric> fabric;
  struct Known : Partners {
    explicit Known(FakePartner& one) : hostb(one) {}
    Result<Partner*> find(const HostName& name) override {
      if (name.str() == "hostb") return &hostb;
      return failure(ErrorCode::kNotFound, "reach " + name.str(), "the configuration does not name it");
    }
    FakePartner& hostb;
  } partners(vm.partner);
  AgentDesk agents{links};
  Config config;
  config.host = HostName("hosta");
  PoolConfig pool;
  pool.kind = PoolConfig::Kind::kSriov;
  config.pools[PoolName("vfs")] = pool;
  config.partners[HostName("hostb")].pools = vm.shared;
  ON_CALL(hypervisor, find).WillByDefault(Return(vm.status));
  ON_CALL(hypervisor, list).WillByDefault(Return(std::vector<DomainStatus>()));
  ON_CALL(hypervisor, metadata).WillByDefault(Return(vm.metadata));
  ON_CALL(hypervisor, xml).WillByDefault(Return(vm.xml()));
  ON_CALL(fabric, hasPool).WillByDefault([](const PoolName& name) { return name.str() == "vfs"; });
  ON_CALL(fabric, locate).WillByDefault(Return(vm.place));

  boost::asio::io_context loop;
  const auto keep = boost::asio::make_work_guard(loop);
  std::thread runs([&] { loop.run(); });
  Plan request;
  request.domain = "vm1";
  request.destination = HostName(vm.destination);
  std::vector<std::string> codes;
  const auto seen = Examiner(loop, hypervisor, fabric, partners, agents, config).examine(request);
  for (const Finding& finding : seen.findings) {
    EXPECT_NE(finding.sentence, "") << finding.code;
    codes.push_back(finding.code);
  }
  const bool may = std::none_of(seen.findings.begin(), seen.findings.end(),
                                [](const Finding& finding) { return finding.severity == Severity::kError; });
  EXPECT_EQ(seen.plan.has_value(), may);
  boost::asio::post(loop, [&] { loop.stop(); });
  runs.join();
  return codes;
}

struct Case {
  const char* code;
  void (*spoil)(Vm&);
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.code; }

void put(std::string& text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
}

const Case kCases[] = {
    {"no-such-domain", [](Vm& vm) { vm.status = failure(ErrorCode::kNotFound, "find vm1", "there is none"); }},
    {"libvirt", [](Vm& vm) { vm.status = failure(ErrorCode::kUnavailable, "find vm1", "libvirtd is away"); }},
    {"not-running", [](Vm& vm) { vm.status->state = DomainState::kPaused; }},
    {"job-running", [](Vm& vm) { vm.status->migration_job = true; }},
    {"no-metadata", [](Vm& vm) { vm.metadata.reset(); }},
    {"bad-metadata", [](Vm& vm) { vm.metadata = "<rdma><vf alias='ua-rdma0'/></rdma>"; }},
    {"no-pool", [](Vm& vm) { put(*vm.metadata, "vfs", "others"); }},
    {"no-device", [](Vm& vm) { put(vm.device, "ua-rdma0", "ua-net0"); }},
    {"wrong-mac", [](Vm& vm) { put(vm.device, "52:54:00:77:00:01", "52:54:00:77:00:02"); }},
    {"not-in-pool", [](Vm& vm) { vm.place = failure(ErrorCode::kNotFound, "locate the VF", "pool vfs has no such VF"); }},
    {"infiniband-interface", [](Vm& vm) { put(*vm.metadata, "roce", "virtual-switch"); }},
    {"infiniband-teaming",
     [](Vm& vm) {
       put(*vm.metadata, "roce", "virtual-switch");
       put(vm.device, "<alias", "<teaming type='transient' persistent='ua-net0'/><alias");
     }},
    // VFIO pins all of it, and a GiB besides.
    {"memlock", [](Vm& vm) { vm.memory += "<memtune><hard_limit unit='KiB'>5242879</hard_limit></memtune>"; }},
    {"holdout", [](Vm& vm) { vm.holdouts->push_back({4711, "perftest", "mlx5_0"}); }},
    {"no-agent", [](Vm& vm) { vm.holdouts.reset(); }},
    {"bad-device", [](Vm& vm) { put(vm.device, "bus='0x05' slot='0x00'", "bus='0x05' slot='0x99'"); }},
    {"same-host", [](Vm& vm) { vm.destination = "hosta"; }},
    {"no-partner", [](Vm& vm) { vm.destination = "hostc"; }},
    {"partner-version",
     [](Vm& vm) { vm.partner.said = failure(ErrorCode::kIncompatible, "greet", "it speaks another version"); }},
    {"partner-silent", [](Vm& vm) { vm.partner.said = failure(ErrorCode::kTimeout, "greet", "it does not answer"); }},
    {"partner-silent", [](Vm& vm) { vm.partner.found = failure(ErrorCode::kTimeout, "ask", "it does not answer"); }},
    {"pool-not-shared", [](Vm& vm) { vm.shared.clear(); }},
    {"no-free-vf", [](Vm& vm) { vm.partner.found = std::vector<Finding>{{Severity::kError, "no-free-vf", "none", "", ""}}; }},
};

class Finds : public testing::TestWithParam<Case> {};

TEST_P(Finds, it_by_its_code) {
  Vm vm;
  GetParam().spoil(vm);
  EXPECT_EQ(codesOf(vm), std::vector<std::string>{GetParam().code});
}
INSTANTIATE_TEST_SUITE_P(Examiner, Finds, testing::ValuesIn(kCases), [](const auto& each) {
  std::string name = each.param.code;
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "_" + std::to_string(each.index);
});

TEST(Examiner, finds_nothing_wrong_with_a_vm_that_may_move) {
  EXPECT_EQ(codesOf(Vm()), std::vector<std::string>());
}

TEST(Examiner, takes_a_memory_limit_that_is_just_enough) {
  Vm vm;
  vm.memory += "<memtune><hard_limit unit='KiB'>5242880</hard_limit></memtune>";
  EXPECT_EQ(codesOf(vm), std::vector<std::string>());
}

}  // namespace
}  // namespace rdmove
