// The identity transaction against a real kernel's rtnetlink: the fabric's own tests, run in the guest, whose
// module labib makes a PF with VFs that take GUIDs and a link state.
#include "lab.hpp"

namespace rdmove::lab {
namespace {

class Identities : public Lab {
 protected:
  void TearDown() override {
    guest("vm1", "ip link del ib0; rmmod labib");
    Lab::TearDown();
  }
};

TEST_F(Identities, are_given_and_taken_over_the_guest_kernels_rtnetlink) {
  ASSERT_EQ(lab({"install", "vm1", RDMOVE_BUILD_DIR "/coordinator/fabric/identity_test"}).status, 0);
  const auto made =
      guest("vm1", "load-labib num_vfs=4 && ip link add link eth1 name ib0 type labib");
  ASSERT_EQ(made.status, 0) << made.output;
  const auto ran = guest("vm1", "RDMOVE_TEST_PF=ib0 identity_test --gtest_filter='KernelVfs.*' 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("[  PASSED  ] 2 tests."), std::string::npos) << ran.output;
}

}  // namespace
}  // namespace rdmove::lab
