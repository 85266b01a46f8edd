// A leased VF that cannot be attached: set aside with nothing left on it, and another one taken in its place.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "coordinator/migration/plan_json.hpp"
#include "coordinator/service/tests/partner_calls.hpp"

namespace rdmove {
namespace {

const VfName kFirst("0000:3b:00.1");
const VfName kSecond("0000:3b:00.2");

constexpr const char* kMetadata =
    "<rdma><vf alias='ua-rdma0' pool='fabric' model='roce' continuity='reconnect'>"
    "<identity mac='52:54:00:77:00:01'/></vf></rdma>";

std::string hostdevNic() {
  std::string device = kDevice;
  device.replace(device.find("type='bridge'"), 13, "type='hostdev'");
  return device;
}

class VfExchange : public PartnerServiceTest {
 protected:
  VfExchange() {
    hostb_.config.timeouts.attach_budget = std::chrono::milliseconds(0);  // Degraded at the first failure
    ON_CALL(hostb_.fabric, softRoce).WillByDefault(testing::Return(false));
    ON_CALL(hostb_.fabric, vfs).WillByDefault([] {
      std::vector<VfInfo> all;
      for (const VfName& name : {kFirst, kSecond}) {
        VfInfo vf{name, PoolName("fabric"), "sriov", "pf0", std::nullopt, "vfio-pci", 7};
        all.push_back(std::move(vf));
      }
      return Result<std::vector<VfInfo>>(all);
    });
    ON_CALL(hostb_.fabric, bind).WillByDefault([](const VfName& name, const MovingVf& vf) {
      return bindToVf(vf.device_xml, name.str(), std::nullopt);
    });
    ON_CALL(hostb_.fabric, planIdentity).WillByDefault([](const VfName& name, const MovingVf&, const auto&) {
      return Result<IdentityRecord>(IdentityRecord{"before of " + name.str(), "given"});
    });
    ON_CALL(hostb_.hypervisor, list).WillByDefault([] { return Result<std::vector<DomainStatus>>(); });
    ON_CALL(hostb_.hypervisor, find).WillByDefault([this](const std::string& name) -> Result<DomainStatus> {
      if (!runs_) return failure(ErrorCode::kNotFound, "find " + name, "there is no such domain");
      DomainStatus status;
      status.name = "vm1";
      status.uuid = DomainUuid(kUuid);
      status.state = DomainState::kRunning;
      return status;
    });
    ON_CALL(hostb_.hypervisor, metadata)
        .WillByDefault(testing::Return(Result<std::optional<std::string>>(std::optional<std::string>(kMetadata))));
    ON_CALL(hostb_.hypervisor, xml)
        .WillByDefault(testing::Return(
            Result<std::string>("<domain><name>vm1</name><uuid>" + std::string(kUuid) + "</uuid><devices/></domain>")));
    ON_CALL(hostb_.fabric, takeIdentity)
        .WillByDefault([this](const VfName& vf, const Identity&, const std::optional<IdentityRecord>& record) {
          keep("off " + vf.str() + (record ? ", " + record->before : ""));
          return Result<void>();
        });
    ON_CALL(hostb_.fabric, giveIdentity).WillByDefault([this](const VfName& vf, const MovingVf&, const auto&, Attached) {
      keep("on " + vf.str());
      return Result<void>();
    });
  }

  /// The VM comes.
  void arrive() {
    v1::ReserveRequest request = goodReservation();
    request.mutable_vfs(0)->set_device_xml(hostdevNic());
    const grpc::Status reserved = reserve(request);
    ASSERT_TRUE(reserved.ok()) << reserved.error_message();
    v1::ReleaseIdentityRequest word;
    word.set_migration(kMigration);
    v1::ReleaseIdentityReply reply;
    const grpc::Status released = hostb_.call(&v1::Partner::Stub::ReleaseIdentity, word, reply);
    ASSERT_TRUE(released.ok()) << released.error_message();
    runs_ = true;
    hostb_.coordinator().onLifecycle(DomainUuid(kUuid), Lifecycle::kResumed, LifecycleDetail::kMigrated);
  }
  /// `what` has come so often.
  bool waitFor(const std::string& what, std::ptrdiff_t times = 1) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, std::chrono::seconds(20),
                          [&] { return std::count(seen_.begin(), seen_.end(), what) >= times; });
  }
  bool came(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return std::find(seen_.begin(), seen_.end(), what) != seen_.end();
  }
  std::ptrdiff_t at(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return std::find(seen_.begin(), seen_.end(), what) - seen_.begin();
  }
  void keep(const std::string& what) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(what);
    more_.notify_all();
  }
  std::string leasedTo() {
    for (const FactRecord& fact : hostb_.facts(kMigration)) {
      if (fact.name != "leases") continue;
      const auto leases = leasesFromJson(fact.value);
      return leases && leases->size() == 1 ? leases->at(0).vf.str() : "not one";
    }
    return "none";
  }
  void failOn(const VfName& vf, ErrorCode code) {
    fails_[vf] = code;
    ON_CALL(hostb_.hypervisor, attach).WillByDefault([this](const DomainUuid&, const std::string& element) -> Result<void> {
      for (const auto& [name, failing] : fails_) {
        if (!sameOnHost(element, bindToVf(hostdevNic(), name.str(), std::nullopt).value())) continue;
        keep("refused " + name.str());
        return failure(failing, "attach it", "the group of " + name.str() + " is not viable");
      }
      keep("attached");
      return failure(ErrorCode::kUnavailable, "attach it", "libvirt went away");  // nobody is there to restore
    });
  }

  std::atomic<bool> runs_{false};
  std::map<VfName, ErrorCode> fails_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> seen_;
};

TEST_F(VfExchange, takes_another_vf_when_one_was_refused_twice) {
  failOn(kFirst, ErrorCode::kInternal);
  arrive();
  ASSERT_TRUE(waitFor("attached"));
  EXPECT_EQ(leasedTo(), kSecond.str());
  const std::string off = "off " + kFirst.str() + ", before of " + kFirst.str();
  EXPECT_TRUE(came(off)) << "what it was before it was leased";
  EXPECT_LT(at(off), at("on " + kSecond.str()));
  EXPECT_EQ(hostb_.leases().size(), 2U) << "nobody is to get the broken one meanwhile";
  const auto records = hostb_.vfRecords();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].vf, kSecond);
}

TEST_F(VfExchange, names_every_vf_that_was_tried) {
  failOn(kFirst, ErrorCode::kInternal);
  failOn(kSecond, ErrorCode::kInternal);
  arrive();
  ASSERT_TRUE(waitFor("refused " + kSecond.str(), 3));  // so that what the second try came to is journaled
  const MigrationRecord record = hostb_.migrations().at(0);
  EXPECT_EQ(record.outcome, Outcome::kDegraded);
  for (const VfName& vf : {kFirst, kSecond}) EXPECT_THAT(record.error, HasSubstr(vf.str() + ": the group of"));
}

TEST_F(VfExchange, does_not_blame_the_vf_for_a_libvirt_that_is_away) {
  failOn(kFirst, ErrorCode::kUnavailable);
  arrive();
  ASSERT_TRUE(waitFor("refused " + kFirst.str(), 3));
  EXPECT_EQ(leasedTo(), kFirst.str());
}

}  // namespace
}  // namespace rdmove
