#include "guestagent/agent/remote_end.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace rdmove::agent {
namespace {

sockaddr_storage storage_of(int family, const char* address) {
  sockaddr_storage storage{};
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(7000);
    inet_pton(AF_INET, address, &in.sin_addr);
    std::memcpy(&storage, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = static_cast<sa_family_t>(family);
    inet_pton(AF_INET6, address, &in.sin6_addr);
    std::memcpy(&storage, &in, sizeof in);
  }
  return storage;
}

TEST(RemoteEnd, is_an_address_without_its_port) {
  const auto v4 = storage_of(AF_INET, "10.77.0.100");
  EXPECT_EQ(remote_address(&v4, sizeof v4), "10.77.0.100");
  const auto v6 = storage_of(AF_INET6, "fd00::5");
  EXPECT_EQ(remote_address(&v6, sizeof v6), "fd00::5");
}

TEST(RemoteEnd, of_af_ib_is_a_gid) {
  const auto ib = storage_of(27, "fe80::2:c903:a:1b2c");
  EXPECT_EQ(remote_address(&ib, sizeof ib), "fe80::2:c903:a:1b2c");
}

TEST(RemoteEnd, is_none_where_there_is_none) {
  const auto listening = storage_of(AF_INET, "0.0.0.0");
  EXPECT_EQ(remote_address(&listening, sizeof listening), std::nullopt);
  const auto other = storage_of(AF_UNIX, "::5");
  EXPECT_EQ(remote_address(&other, sizeof other), std::nullopt);
  const auto v6 = storage_of(AF_INET6, "fd00::5");
  for (const std::size_t cut : {0, 1, 2, 8, 23}) EXPECT_EQ(remote_address(&v6, cut), std::nullopt) << cut;
}

}  // namespace
}  // namespace rdmove::agent
