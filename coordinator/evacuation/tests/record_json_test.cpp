#include "coordinator/evacuation/record_json.hpp"

#include <gtest/gtest.h>

namespace rdmove::evacuation {
namespace {

TEST(RecordJson, a_request_comes_back_as_it_was) {
  Request request;
  request.destinations = {HostName("hostb"), HostName("hostc")};
  request.limits = {4, 2, true};
  request.options.bandwidth_mib = 500;
  request.options.tls = true;
  const auto back = requestFromJson(toJson(request));
  ASSERT_TRUE(back) << back.error().sentence();
  EXPECT_EQ(back->destinations, request.destinations);
  EXPECT_EQ(back->limits, request.limits);
  EXPECT_EQ(back->options.bandwidth_mib, 500U);
  EXPECT_TRUE(back->options.tls);
}

TEST(RecordJson, a_need_and_tries_come_back_as_they_were) {
  Need need;
  need.memory_kib = 1ULL << 40U;
  need.vcpus = 3;
  need.vfs = {{PoolName("a"), 1}, {PoolName("b"), 2}};
  need.peers = {DomainUuid("uuid-2")};
  const auto back = needFromJson(needToJson(need));
  ASSERT_TRUE(back) << back.error().sentence();
  EXPECT_EQ(*back, need);
  const std::vector<Try> tries{{HostName("hostb"), MigrationId("vm1-x"), "no \"room\"\n", true}};
  EXPECT_EQ(triesFromJson(triesToJson(tries)).value(), tries);
  EXPECT_TRUE(triesFromJson("").value().empty());
}

TEST(RecordJson, a_damaged_row_is_an_error_and_no_exception) {
  for (const char* text : {"", "{", "[]", "7", R"({"memory_kib":"x"})"}) {
    EXPECT_EQ(needFromJson(text).error().code, ErrorCode::kBadInput) << text;
    EXPECT_FALSE(requestFromJson(text)) << text;
  }
  EXPECT_FALSE(triesFromJson("{\"a\":1}"));
}

}  // namespace
}  // namespace rdmove::evacuation
