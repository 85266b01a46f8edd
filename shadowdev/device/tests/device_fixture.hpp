// Two processes with a shadow each, and what tests of moves do with them.
#pragma once

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "shadowdev/device/tests/world.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"

namespace rdmove::shadow::test {

using fake::End;

using Brief = std::pair<std::uint64_t, ibv_wc_status>;
inline std::vector<Brief> brief(const std::vector<ibv_wc>& all) {
  std::vector<Brief> said;
  for (const ibv_wc& wc : all) said.emplace_back(wc.wr_id, wc.status);
  return said;
}
inline Brief good(std::uint64_t id) {
  return {id, IBV_WC_SUCCESS};
}
inline Brief flush(std::uint64_t id) {
  return {id, IBV_WC_WR_FLUSH_ERR};
}

struct DeviceTest : testing::Test {
  void run(Move& move, unsigned most = 5000) {
    for (unsigned i = 0; i < most && !move.over(); ++i) {
      move.step();
      fabric.step();
    }
    EXPECT_EQ(move.at(), Move::At::Done) << move.word;
  }
  void park(Move& move) {
    for (unsigned i = 0; i < 5000 && move.at() != Move::At::Away; ++i) {
      move.step();
      fabric.step();
    }
    ASSERT_EQ(move.at(), Move::At::Away) << move.word;
  }
  void move(Process& process, End& end) {
    Move one(process, end.context);
    run(one);
  }

  fake::Fabric fabric{11};
  Exchange exchange;
  Process left{fabric, exchange, "left", 1};
  Process right{fabric, exchange, "right", 2};
};

}  // namespace rdmove::shadow::test
