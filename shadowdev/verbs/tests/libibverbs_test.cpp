// Without a device there is little to ask; on one, the shadow's own tests in guests use all of it.
#include "shadowdev/verbs/libibverbs.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace rdmove::shadow {
namespace {

TEST(Libibverbs, aDeviceThatIsNotThereIsNamedSo) {
  Libibverbs verbs(linked_calls());
  errno = 0;
  EXPECT_EQ(verbs.open("no-such-device"), nullptr);
  EXPECT_TRUE(errno == ENODEV || errno == ENOSYS) << errno;  // ENOSYS: a kernel without RDMA
}

}  // namespace
}  // namespace rdmove::shadow
