// Two machines of the fake world, b listening, and a connection from a to b when a test asks for it.
#pragma once

#include "guestagent/failover/connection/tests/connection_fixture.hpp"

namespace rdmove::failover::conn::fake {

class TwoMachines : public World {
 protected:
  void SetUp() override { b->listen(7000); }

  /// A connection from a to b that is up; its two owners.
  void bring_up(const ConnectionOptions& options = {}) {
    caller = &a->connect("10.0.0.2", 7000, options);
    run(std::chrono::milliseconds(200));
    ASSERT_EQ(caller->connection->state(), ConnectionState::Up);
    ASSERT_EQ(b->owners.size(), 1U);
    callee = b->owners.front().get();
    ASSERT_EQ(callee->connection->state(), ConnectionState::Up);
  }
  void expect_traffic() {
    const int before = callee->received;
    const int before_back = caller->received;
    EXPECT_TRUE(caller->send());
    EXPECT_TRUE(callee->send());
    run(std::chrono::milliseconds(50));
    EXPECT_EQ(callee->received, before + 1);
    EXPECT_EQ(caller->received, before_back + 1);
  }

  Owner* caller = nullptr;
  Owner* callee = nullptr;
};

}  // namespace rdmove::failover::conn::fake
