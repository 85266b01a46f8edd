// What the record says of the fabric after a move.
#include "coordinator/migration/fabric_watch.hpp"

#include <gmock/gmock.h>

#include "coordinator/fabric/subnet/tests/fake_subnet.hpp"

namespace rdmove {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Guid kGuid(0x0002c90300770001);
const Gid kGid(0xfe80000000000000, kGuid);

/// Each opening is a view of the one subnet.
class View final : public Subnet {
 public:
  explicit View(FakeSubnet& of) : of_(of) {}
  Result<Lid> self() override { return of_.self(); }
  Result<std::uint64_t> prefix() override { return of_.prefix(); }
  Result<std::optional<Path>> path(const Gid& to) override { return of_.path(to); }
  Result<std::optional<SubnetNode>> node(Guid port) override { return of_.node(port); }
  Result<std::optional<SubnetNode>> node(Lid lid) override { return of_.node(lid); }
  Result<std::optional<Attachment>> attachment(Lid lid, unsigned port) override {
    return of_.attachment(lid, port);
  }
  Result<SubnetNode> ask(Lid lid) override { return of_.ask(lid); }
  Result<void> join(const Gid& a, const Gid& b, JoinState c) override { return of_.join(a, b, c); }
  Result<void> subscribe(unsigned trap, bool on) override { return of_.subscribe(trap, on); }
  Result<Guid> setAliasGuid(Lid lid, unsigned row, Guid guid) override {
    return of_.setAliasGuid(lid, row, guid);
  }

 private:
  FakeSubnet& of_;
};

class FabricWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    subnet.paths[kGid] = {Lid(5), Lid(2), {}};
    subnet.lids[kGuid] = Lid(5);
    subnet.cables[Lid(5)] = {Lid(1), 3};
    subnet.answering[Lid(5)] = kGuid;
  }
  static Plan plan(Model model, bool with_guid = true) {
    Plan plan;
    VfDeclaration vf{DeviceAlias("ua-ib0"), PoolName("ib"), model, Continuity::kReconnect, {}};
    if (with_guid) vf.identity.port_guid = kGuid;
    plan.vfs.push_back({vf, ""});
    return plan;
  }
  std::vector<std::string> after(Model model) { return watch.after(plan(model), milliseconds(0)); }

  FakeSubnet subnet;
  bool configured = true;
  SubnetOpener opener() {
    return [this](const PoolName&) -> std::optional<Result<std::unique_ptr<Subnet>>> {
      if (!configured) return std::nullopt;
      return std::make_unique<View>(subnet);
    };
  }
  FabricWatch watch{opener()};
};

TEST_F(FabricWatchTest, a_virtual_switch_port_at_its_new_place_is_said_with_its_lid) {
  watch.before(plan(Model::kVirtualSwitch), {});
  subnet.cables[Lid(5)] = {Lid(4), 1};
  EXPECT_THAT(after(Model::kVirtualSwitch), ElementsAre("ua-ib0: the fabric has it at its new place, LID 5"));
}

TEST_F(FabricWatchTest, a_stale_place_and_another_lid_are_warnings) {
  watch.before(plan(Model::kVirtualSwitch), {});
  EXPECT_THAT(after(Model::kVirtualSwitch), ElementsAre(HasSubstr("warning: cannot find port")));
  subnet.lids[kGuid] = Lid(8);
  subnet.cables[Lid(8)] = {Lid(4), 1};
  subnet.answering[Lid(8)] = kGuid;
  EXPECT_THAT(after(Model::kVirtualSwitch), ElementsAre(HasSubstr("under LID 8, and had it under 5")));
}

TEST_F(FabricWatchTest, without_a_look_before_the_new_place_is_not_claimed) {
  EXPECT_THAT(after(Model::kVirtualSwitch), ElementsAre(HasSubstr("warning: it answers at LID 5; whether")));
}

TEST_F(FabricWatchTest, what_was_seen_before_outlives_the_daemon) {
  watch.before(plan(Model::kVirtualSwitch), {});
  const std::string text = watch.remembered();
  watch = FabricWatch(opener());
  watch.recall(text);
  EXPECT_EQ(watch.remembered(), text);
  EXPECT_THAT(after(Model::kVirtualSwitch), ElementsAre(HasSubstr("still has it at LID 1 port 3")));
  subnet.cables[Lid(5)] = {Lid(4), 1};
  EXPECT_THAT(after(Model::kVirtualSwitch), ElementsAre("ua-ib0: the fabric has it at its new place, LID 5"));
  for (const char* wrong : {"", "[1]", "{\"ua-ib0\":{\"gid\":\"x\",\"lid\":1}}", "{\"ua-ib0\":7}"}) {
    watch.recall(wrong);
    EXPECT_EQ(watch.remembered(), "{}") << wrong;
  }
}

TEST_F(FabricWatchTest, the_prefix_is_the_subnets) {
  subnet.subnet_prefix = 0xfec0000000000001;
  subnet.paths = {{Gid(0xfec0000000000001, kGuid), {Lid(9), Lid(2), {}}}};
  EXPECT_THAT(after(Model::kSharedPort), ElementsAre("ua-ib0: the fabric has it at its new place, LID 9"));
}

TEST_F(FabricWatchTest, a_bystander_with_another_lid_is_told) {
  const Guid other(0x10), absent(0x11);
  subnet.lids[other] = Lid(6);
  watch.before(plan(Model::kVirtualSwitch), {other, absent});
  subnet.cables[Lid(5)] = {Lid(4), 1};
  EXPECT_THAT(after(Model::kVirtualSwitch), testing::SizeIs(1));
  subnet.lids[other] = Lid(8);
  EXPECT_THAT(after(Model::kVirtualSwitch),
              ElementsAre(HasSubstr("new place, LID 5"), HasSubstr("had LID 6 and has 8 now")));
}

TEST_F(FabricWatchTest, a_shared_port_s_gid_has_to_lead_to_this_host) {
  EXPECT_THAT(after(Model::kSharedPort), ElementsAre(HasSubstr("leads to LID 5, not to 9")));
  subnet.paths[kGid] = {Lid(9), Lid(2), {}};
  EXPECT_THAT(after(Model::kSharedPort), ElementsAre("ua-ib0: the fabric has it at its new place, LID 9"));
}

TEST_F(FabricWatchTest, nothing_is_said_without_a_subnet_or_an_infiniband_identity) {
  EXPECT_THAT(after(Model::kRoce), IsEmpty());
  EXPECT_THAT(watch.after(plan(Model::kVirtualSwitch, false), milliseconds(0)), IsEmpty());
  configured = false;
  EXPECT_THAT(after(Model::kVirtualSwitch), IsEmpty());
}

}  // namespace
}  // namespace rdmove
