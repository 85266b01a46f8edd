// When a moved port counts as arrived, against a subnet whose answers the test makes. What a real OpenSM says
// is in subnet_opensm_test.
#include "coordinator/fabric/subnet/moved_port.hpp"

#include <gmock/gmock.h>

#include "coordinator/fabric/subnet/tests/fake_subnet.hpp"

namespace rdmove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Guid kGuid(0x0002c90300770001);
const Gid kGid(0xfe80000000000000, kGuid);

/// Something happens before each further look.
class Steps final : public Patience {
 public:
  explicit Steps(std::vector<std::function<void()>> steps) : steps_(std::move(steps)) {}
  bool again() override {
    if (next_ == steps_.size()) return false;
    steps_[next_++]();
    return true;
  }
  std::size_t next_ = 0;

 private:
  std::vector<std::function<void()>> steps_;
};

class MovedPort : public testing::Test {
 protected:
  FakeSubnet subnet;
  const KnownPort before{kGid, kGuid, Lid(5), Attachment{Lid(1), 3}};
};

TEST_F(MovedPort, what_is_known_is_lid_and_cable) {
  subnet.paths[kGid] = {Lid(5), Lid(2), PartitionKey(0xffff)};
  subnet.cables[Lid(5)] = {Lid(1), 3};
  EXPECT_EQ(lookUpPort(subnet, kGid).value(), before);
  subnet.paths.clear();
  EXPECT_EQ(lookUpPort(subnet, kGid).error().code, ErrorCode::kNotFound);
}

TEST_F(MovedPort, a_shared_port_has_arrived_when_the_path_leads_to_the_destination) {
  subnet.paths[kGid] = {Lid(5), Lid(2), {}};
  Steps steps({[&] { subnet.paths.clear(); }, [&] { subnet.paths[kGid] = {Lid(9), Lid(2), {}}; }});
  EXPECT_EQ(awaitSharedPort(subnet, kGid, Lid(9), steps).value(), Lid(9));
  EXPECT_EQ(steps.next_, 2U);
}

TEST_F(MovedPort, a_shared_port_that_stays_is_said_to_be_where_it_is) {
  subnet.paths[kGid] = {Lid(5), Lid(2), {}};
  Steps steps({[] {}});
  const auto found = awaitSharedPort(subnet, kGid, Lid(9), steps);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().sentence(), HasSubstr("leads to LID 5, not to 9"));
}

TEST_F(MovedPort, a_stale_path_record_is_no_arrival_in_a_virtual_switch) {
  subnet.paths[kGid] = {Lid(5), Lid(2), {}};
  subnet.lids[kGuid] = Lid(5);
  subnet.cables[Lid(5)] = {Lid(1), 3};  // the old one
  subnet.answering[Lid(5)] = kGuid;
  Steps steps({[] {}});
  const auto found = awaitVirtualSwitch(subnet, before, steps);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().sentence(), HasSubstr("still has it at LID 1 port 3"));
}

TEST_F(MovedPort, a_virtual_switch_port_has_arrived_when_sa_and_port_agree) {
  Steps steps({[&] { subnet.lids[kGuid] = Lid(5); },
               [&] {
                 subnet.cables[Lid(5)] = {Lid(4), 7};
               },
               [&] { subnet.answering[Lid(5)] = Guid(1); }, [&] { subnet.answering[Lid(5)] = kGuid; }});
  EXPECT_EQ(awaitVirtualSwitch(subnet, before, steps).value(), Lid(5));
  EXPECT_EQ(steps.next_, 4U);
}

TEST_F(MovedPort, a_silent_subnet_manager_is_waited_for_and_a_refusal_is_not) {
  subnet.fails = Error{ErrorCode::kTimeout, "ask", "the subnet administration does not answer", ""};
  Steps silent({[&] { subnet.fails.reset(); }, [&] { subnet.paths[kGid] = {Lid(9), Lid(2), {}}; }});
  EXPECT_TRUE(awaitSharedPort(subnet, kGid, Lid(9), silent));
  subnet.fails = Error{ErrorCode::kRefused, "ask", "the SA denies it", ""};
  Steps refused({[] {}});
  EXPECT_EQ(awaitSharedPort(subnet, kGid, Lid(9), refused).error().code, ErrorCode::kRefused);
  EXPECT_EQ(refused.next_, 0U);
}

TEST_F(MovedPort, lids_that_change_are_told_the_mover_s_and_a_bystander_s) {
  const Guid peer(0x10), absent(0x11);
  subnet.lids = {{kGuid, Lid(5)}, {peer, Lid(6)}};
  LidBook book;
  ASSERT_TRUE(book.note(subnet, {kGuid, peer, absent}));
  EXPECT_THAT(book.changes(subnet).value(), IsEmpty());
  subnet.lids = {{kGuid, Lid(5)}, {peer, Lid(8)}, {absent, Lid(6)}};
  EXPECT_THAT(book.changes(subnet).value(), ElementsAre(LidChange{peer, Lid(6), Lid(8)}));
  subnet.lids.clear();
  EXPECT_THAT(book.changes(subnet).value(),
              ElementsAre(LidChange{kGuid, Lid(5), Lid(0)}, LidChange{peer, Lid(6), Lid(0)}));
}

TEST(GidTest, has_sysfs_s_form_and_a_guid) {
  EXPECT_EQ(kGid.str(), "fe80:0000:0000:0000:0002:c903:0077:0001");
  EXPECT_EQ(Gid::parse("fe80::2:c903:77:1"), kGid);
  EXPECT_EQ(Gid::parse(kGid.str()), kGid);
  EXPECT_EQ(kGid.guid(), kGuid);
  EXPECT_EQ(Gid::parse("fe80"), std::nullopt);
}

}  // namespace
}  // namespace rdmove
