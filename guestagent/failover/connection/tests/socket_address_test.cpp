#include <gtest/gtest.h>

#include "rdmove/connection.hpp"

namespace rdmove::failover {
namespace {

TEST(SocketAddress, reads_and_writes_both_families) {
  EXPECT_EQ(SocketAddress::parse("10.77.0.1", 7471)->text(), "10.77.0.1:7471");
  EXPECT_EQ(SocketAddress::parse("fd00::1", 7471)->text(), "[fd00::1]:7471");
  EXPECT_EQ(SocketAddress::parse("fe80::1%lo", 1)->text(), "[fe80::1%lo]:1");
  EXPECT_EQ(SocketAddress::from(SocketAddress::parse("fd00::1", 9)->get()).with_port(8).text(),
            "[fd00::1]:8");
}

TEST(SocketAddress, refuses_names_and_unknown_interfaces) {
  EXPECT_EQ(SocketAddress::parse("localhost", 1).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(SocketAddress::parse("", 1).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(SocketAddress::parse("fe80::1%nowhere9", 1).error().code, ErrorCode::AddressNotAvailable);
  EXPECT_EQ(SocketAddress().text(), "-");
}

}  // namespace
}  // namespace rdmove::failover
