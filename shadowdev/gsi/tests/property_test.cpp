// Random schedules over two ports, a subnet administrator and a peer host: whatever is lost, repeated, late
// or moved, nothing reaches a function that it is not for, TransactionIDs come back, tables stay within their
// limits, and the administrator's memberships are those that the functions have. RC_PARAMS="seed=…" runs one
// again.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>

#include "shadowdev/gsi/tests/world.hpp"

namespace rdmove::gsi::test {
namespace {

using Step = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>;  // what, who, which

void step(World& world, const Step& step) {
  const auto [what, who, which] = step;
  const std::size_t soul = who % World::kSouls;
  switch (what % 20) {
    case 0:
    case 1:
    case 2:
      return world.query(soul, which);
    case 3:
    case 4:
      return world.join(soul, which);
    case 5:
      return world.leave(soul, which);
    case 6:
      return world.subscribe(soul, which, true);
    case 7:
      return world.subscribe(soul, which, false);
    case 8:
      return world.connect(soul, which);
    case 9:
      return world.peer_speaks(which);
    case 10:
      return world.disconnect(soul, which);
    case 11:
      return world.report(which);
    case 12:
      return world.move(soul);
    case 13:
      return world.pass(milliseconds{which * 4});
    case 14:
    case 16:
      return world.lose(which);
    case 15:
      return which % 8 == 0 ? world.administrator_is_replaced() : world.repeat_answer(which);
    default:
      for (unsigned i = 0; i <= which % 8U; ++i) world.flow();
  }
}

int wanted_schedules() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 1'000;
#else
  return 3'000;
#endif
}

TEST(GsiProperty, nothingIsMisdeliveredAndTheAdministratorKnowsWhatIsHeld) {
  const char* given = std::getenv("RC_PARAMS");
  const std::string parameters = "max_size=300 max_success=" + std::to_string(wanted_schedules()) + " " +
                                 (given != nullptr ? given : "");
  ::setenv("RC_PARAMS", parameters.c_str(), 1);  // read by rapidcheck once, at its first check
  World::Totals totals;
  const bool held = rc::check("nothing is misdelivered", [&] {
    World world(totals, *rc::gen::arbitrary<bool>());
    for (const Step& one : *rc::gen::container<std::vector<Step>>(rc::gen::arbitrary<Step>())) {
      step(world, one);
      if (!world.failure().empty()) RC_FAIL(world.failure());
    }
    world.come_to_rest();
    if (!world.failure().empty()) RC_FAIL(world.failure());
  });
  std::cout << totals.answers << " answers, " << totals.joins << " joins and " << totals.leaves << " leaves, "
            << totals.asked << " requests to the administrator, " << totals.reports << " reports delivered, "
            << totals.cm << " CM messages delivered, " << totals.moves << " moves, " << totals.lost
            << " MADs lost\n";
  ASSERT_TRUE(held);
  // A test that never gets to the interesting places proves nothing.
  const auto each = static_cast<std::uint64_t>(wanted_schedules());
  EXPECT_GT(totals.answers, 2 * each);
  EXPECT_GT(totals.joins, 2 * each);
  EXPECT_GT(totals.leaves, each);
  EXPECT_GT(totals.reports, each);
  EXPECT_GT(totals.cm, each);
  EXPECT_GT(totals.moves, each);
  EXPECT_GT(totals.lost, each / 2);
}

}  // namespace
}  // namespace rdmove::gsi::test
