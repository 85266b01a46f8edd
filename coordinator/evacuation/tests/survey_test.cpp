// Which VMs of a host would go, and what its destinations say.
#include "coordinator/evacuation/survey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmove::evacuation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kElement =
    "<rdma xmlns='urn:rdmove:domain:1'><vf alias='ua-rdma0' pool='fabric' model='roce'/>"
    "<vf alias='ua-rdma1' pool='fabric' model='roce'/></rdma>";

struct Vm {
  DomainStatus status;
  std::optional<std::string> element = kElement;
};

class Host : public Hypervisor {
 public:
  std::vector<Vm> vms;

  Vm& add(const std::string& name, DomainState state = DomainState::kRunning,
          const std::string& words = "running") {
    Vm vm;
    vm.status.name = name;
    vm.status.uuid = DomainUuid("uuid-" + name);
    vm.status.state = state;
    vm.status.state_text = words;
    return vms.emplace_back(vm);
  }
  Result<std::vector<DomainStatus>> list() override {
    std::vector<DomainStatus> all;
    for (const Vm& vm : vms) all.push_back(vm.status);
    return all;
  }
  Result<std::optional<std::string>> metadata(const DomainUuid& uuid, XmlKind) override {
    for (const Vm& vm : vms) {
      if (vm.status.uuid == uuid) return vm.element;
    }
    return failure(ErrorCode::kNotFound, "read", "no such domain");
  }
  Result<std::string> xml(const DomainUuid&, XmlKind) override {
    return std::string("<domain><memory unit='KiB'>2097152</memory><vcpu current='3'>4</vcpu></domain>");
  }
  Result<DomainStatus> find(const std::string&) override { return no(); }
  Result<void> define(const std::string&) override { return no(); }
  Result<void> setMetadata(const DomainUuid&, XmlKind, const std::optional<std::string>&) override {
    return no();
  }
  Result<void> detach(const DomainUuid&, const DeviceAlias&) override { return no(); }
  Result<void> attach(const DomainUuid&, const std::string&) override { return no(); }
  Result<void> migrate(const MigrationRequest&) override { return no(); }
  Result<void> startPostcopy(const DomainUuid&) override { return no(); }
  Result<void> abortJob(const DomainUuid&) override { return no(); }
  Result<JobProgress> progress(const DomainUuid&) override { return no(); }
  Result<void> resume(const DomainUuid&) override { return no(); }
  Result<void> suspend(const DomainUuid&) override { return no(); }
  Result<void> destroy(const DomainUuid&) override { return no(); }
  Result<std::unique_ptr<ByteChannel>> openChannel(const DomainUuid&, const std::string&,
                                                   ChannelListener&) override {
    return no();
  }
  Result<std::string> version() override { return no(); }

 private:
  static tl::unexpected<Error> no() {
    return failure(ErrorCode::kInternal, "", "an evacuation asks no such thing");
  }
};

class Survey : public testing::Test {
 protected:
  std::vector<Candidate> look(const std::map<DomainUuid, MigrationId>& busy = {}) {
    return candidates(host, HostName("hosta"), busy, findings).value();
  }
  Host host;
  std::vector<Finding> findings;
};

TEST_F(Survey, knows_what_a_vm_needs) {
  host.add("vm1");
  const auto vms = look();
  ASSERT_EQ(vms.size(), 1U);
  EXPECT_EQ(vms[0].why_not, "");
  EXPECT_EQ(vms[0].need.memory_kib, 2097152U);
  EXPECT_EQ(vms[0].need.vcpus, 3U);
  EXPECT_EQ(vms[0].need.vfs, (std::map<PoolName, unsigned>{{PoolName("fabric"), 2}}));
  EXPECT_THAT(findings, IsEmpty());
}

TEST_F(Survey, a_vm_without_metadata_is_no_affair_of_it) {
  host.add("vm1").element.reset();
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(findings, IsEmpty());
}

TEST_F(Survey, a_vm_that_is_shut_off_is_told_and_stays_defined) {
  host.add("vm1", DomainState::kShutOff, "shut off");
  EXPECT_THAT(look(), IsEmpty());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "shut-off");
  EXPECT_THAT(findings[0].sentence, HasSubstr("vm1"));
}

TEST_F(Survey, who_cannot_move_as_it_is_stays_with_the_reason_and_the_others_go) {
  host.add("vm4");
  host.add("vm1", DomainState::kPaused, "paused (user)");
  host.add("vm2").element = "<rdma xmlns='urn:rdmove:domain:1'><vf alias='x'/></rdma>";
  host.add("vm3");
  const auto vms = look({{DomainUuid("uuid-vm3"), MigrationId("vm3-x")}});
  ASSERT_EQ(vms.size(), 4U);
  EXPECT_EQ(vms[0].why_not, "it is not running (paused (user))");
  EXPECT_THAT(vms[1].why_not, HasSubstr("alias"));
  EXPECT_EQ(vms[2].why_not, "its migration vm3-x is not over");
  EXPECT_EQ(vms[3].need.domain, "vm4");
  EXPECT_EQ(vms[3].why_not, "");
}

}  // namespace
}  // namespace rdmove::evacuation
