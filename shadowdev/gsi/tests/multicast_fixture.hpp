// A port with four functions, and a test in the administrator's place.
#pragma once

#include <gtest/gtest.h>

#include "shadowdev/gsi/tests/mads.hpp"

namespace rdmove::gsi::test {

inline PortOptions small() {
  PortOptions all = options();
  all.multicast.records_per_function = 4;
  all.multicast.waiting_per_function = 2;
  all.multicast.attempts = 3;
  all.multicast.attempt = milliseconds{100};
  return all;
}

class MulticastTest : public testing::Test {
 protected:
  explicit MulticastTest(const PortOptions& with = small()) : port_(with, time_) {
    for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(port_.add_function(function(i), {gid_of(function(i))}));
  }
  /// What the port asks the administrator; nothing more than that may leave it.
  Datagram asked() {
    const auto request = port_.to_wire();
    EXPECT_TRUE(request) << "nothing left the port";
    EXPECT_FALSE(port_.to_wire()) << "two requests";
    return request.value_or(Datagram{});
  }
  Datagram answer_of(FunctionId function) {
    const auto answer = port_.to_function(function);
    EXPECT_TRUE(answer) << "no answer";
    return answer.value_or(Datagram{});
  }
  void joined(FunctionId of, const Gid& group, JoinState state = kFullMember) {
    const Verdict verdict = port_.from_function(of, join(of, tid(1), group, state));
    if (verdict == Verdict::Waiting) port_.from_wire(granted(asked()));
    EXPECT_EQ(answer_of(of).mad.status(), 0);
  }

  FakeTime time_;
  SharedPort port_;
};

}  // namespace rdmove::gsi::test
