// What a restore's answer says when its deadline passes.
#include "guestagent/tests/moves_fixture.hpp"

namespace rdmove::agent::test {
namespace {

class MissingTest : public MovesTest {
 protected:
  MissingPiece missing_after_deadline() {
    restore();
    EXPECT_THAT(restored, IsEmpty());
    timers.advance(milliseconds(1000));
    EXPECT_EQ(restored.size(), 1U);
    EXPECT_EQ(restored.at(0).error().code, ErrorCode::DeadlinePassed);
    EXPECT_TRUE(timers.idle());
    EXPECT_EQ(moves->prepared(), m1) << "it can be asked again";
    return *MissingPiece::from_payload(restored.at(0).error().data);
  }
};

TEST_F(MissingTest, device) {
  prepare_fully();
  network.unplug();
  EXPECT_EQ(missing_after_deadline(), (MissingPiece{"device", mac.text(), "ua-rdma0"}));
  network.plug(3, "eth0");
  restore();
  EXPECT_TRUE(restored.at(1));
}

TEST_F(MissingTest, address) {
  prepare_fully();
  network.lost = {"10.0.0.5/24"};
  EXPECT_EQ(missing_after_deadline().piece, "address");
}

TEST_F(MissingTest, rdma_device_with_the_reason) {
  prepare_fully();
  rdma.refuses_to_add = "is rdma_rxe loaded?";
  EXPECT_EQ(missing_after_deadline().piece, "rdma");
  EXPECT_THAT(restored[0].error().message, testing::HasSubstr("rdma_rxe"));
}

TEST_F(MissingTest, gid) {
  prepare_fully();
  rdma.gids_are_there = false;
  EXPECT_EQ(missing_after_deadline(),
            (MissingPiece{"gid", "0000:0000:0000:0000:0000:ffff:0a00:0005", "ua-rdma0"}));
}

TEST_F(MissingTest, carrier) {
  prepare_fully();
  network.link->carrier = false;
  EXPECT_EQ(missing_after_deadline(), (MissingPiece{"link", "eth0", "ua-rdma0"}));
}

}  // namespace
}  // namespace rdmove::agent::test
