// Random verbs programs, once on the provider in memory itself and once on the shadow above it, whose ends
// move at random: the same completions in the same order per queue, and the same memory. RDMOVE_SCHEDULES=N
// runs more of them, RDMOVE_SEED=N begins there; a failure names its seed.
#include <gtest/gtest.h>

#include <iostream>

#include "shadowdev/device/tests/schedules.hpp"
#include "shadowdev/device/tests/traffic.hpp"
#include "shadowdev/device/tests/world.hpp"

namespace rdmove::shadow::test {
namespace {

constexpr unsigned kMostRounds = 100'000;

/// `srq`: which receive of an SRQ a message gets is a matter of the schedule.
struct Outcome {
  std::vector<Side::Queue> queues[2];
  std::vector<std::byte> memory[2];
  std::string missing;
};

void keep(Outcome& outcome, fake::Fabric& fabric, Side& a, Side& b) {
  fabric.faults.none();
  for (int i = 0; i < 4; ++i) {  // an unsignalled tail is on its way, and nothing tells its program
    fabric.run();
    a.poll();
    b.poll();
  }
  outcome.missing = a.missing() + b.missing();
  outcome.queues[0] = a.queues;
  outcome.queues[1] = b.queues;
  outcome.memory[0] = a.memory();
  outcome.memory[1] = b.memory();
}

Outcome run_direct(const Plan& plan) {
  fake::Fabric fabric(plan.seed);
  fabric.add_device("left0", 1);
  fabric.add_device("right0", 2);
  fake::FakeVerbs verbs(fabric);
  std::mt19937 random(plan.seed + 1);
  Outcome outcome;
  Side a(verbs, "left0", plan, 0), b(verbs, "right0", plan, 1);
  Side::connect(a, b);
  for (unsigned i = 0; i < kMostRounds && !(a.complete() && b.complete()); ++i) {
    a.act(random);
    b.act(random);
    if (random() % 2 == 0) fabric.step();
  }
  keep(outcome, fabric, a, b);
  return outcome;
}

std::string state_of(const Side& side) {
  std::string said;
  for (const Side::Queue& queue : side.queues) {
    const auto& qp = *static_cast<const VirtualQp*>(queue.qp);
    said += "[phase " + std::to_string(static_cast<int>(qp.phase.load())) + " held " +
            std::to_string(qp.held.size()) + (qp.broken ? " broken" : "") + (qp.lost ? " lost" : "") +
            (qp.asking ? " asking" : "") + (qp.granted ? " granted" : "") + " parked receives " +
            std::to_string(qp.parked_receives.size()) + " outstanding " +
            std::to_string(qp.outstanding.size()) + "]";
  }
  return said + (side.failed ? " failed; " : "; ");
}

struct Totals {
  std::uint64_t moves = 0, rolled_back = 0, both = 0, struck = 0, asked = 0, messages = 0;
};

enum class Trouble : std::uint8_t { None, Faults };

Outcome run_shadowed(const Plan& plan, Trouble trouble, Totals& totals) {
  fake::Fabric fabric(plan.seed + 2);
  Exchange exchange;
  std::mt19937 random(plan.seed + 3);
  const ShadowOptions options{.records = random() % 4 == 0, .seed = plan.seed + 4};
  Process left(fabric, exchange, "left", 1, options), right(fabric, exchange, "right", 2, options);
  Outcome outcome;
  {
    Side a(left.verbs, "left0", plan, 0), b(right.verbs, "right0", plan, 1);
    Side::connect(a, b);
    if (trouble == Trouble::Faults) exchange.lose_one_in(6, plan.seed);
    std::unique_ptr<Move> moves[2];
    Process* processes[2] = {&left, &right};
    Side* sides[2] = {&a, &b};
    unsigned left_to_begin = random() % 5;
    for (unsigned i = 0; i < kMostRounds; ++i) {
      a.act(random);
      b.act(random);
      if (random() % 2 == 0) fabric.step();
      if (trouble == Trouble::Faults && random() % 16 == 0) fabric.faults.fail_after(random() % 24);
      for (unsigned end = 0; end < 2; ++end) {
        auto& move = moves[end];
        if (move == nullptr && left_to_begin > 0 && random() % 24 == 0) {
          move = std::make_unique<Move>(*processes[end], sides[end]->context());
          --left_to_begin;
          totals.both += moves[1 - end] != nullptr ? 1 : 0;
        }
        if (move == nullptr || random() % 2 == 0) continue;
        move->step();
        if (random() % 64 == 0) move->roll_back();
        if (!move->over()) continue;
        ++(move->at() == Move::At::Done ? totals.moves : totals.rolled_back);
        move.reset();
      }
      const bool still = moves[0] == nullptr && moves[1] == nullptr && left_to_begin == 0;
      if (still && a.complete() && b.complete()) break;
    }
    for (unsigned end = 0; end < 2; ++end)
      if (moves[end] != nullptr)
        outcome.missing += "a move does not end (" + std::to_string(static_cast<int>(moves[end]->at())) +
                           " " + moves[end]->word + "); ";
    const std::string before = outcome.missing;
    keep(outcome, fabric, a, b);
    if (!outcome.missing.empty()) outcome.missing += state_of(a) + state_of(b);
    outcome.missing += before;
    for (const auto& queues : outcome.queues)
      for (const auto& queue : queues) totals.messages += queue.sends.size() + queue.receives.size();
  }
  totals.struck += fabric.faults.struck();
  totals.asked += exchange.asked;
  return outcome;
}

std::string compare(const Outcome& direct, const Outcome& shadowed, const Plan& plan) {
  if (!direct.missing.empty()) return "the direct run: " + direct.missing;
  if (!shadowed.missing.empty()) return shadowed.missing;
  for (unsigned end = 0; end < 2; ++end) {
    for (unsigned pair = 0; pair < plan.pairs; ++pair) {
      const std::string where = "end " + std::to_string(end) + " pair " + std::to_string(pair);
      if (direct.queues[end][pair].sends != shadowed.queues[end][pair].sends) return where + ": other sends";
      if (direct.queues[end][pair].receives != shadowed.queues[end][pair].receives)
        return where + ": other receives";
    }
    // With an SRQ the buffers of receives are dealt out by the schedule; their contents were compared.
    if (!plan.shared[end] && direct.memory[end] != shadowed.memory[end])
      return "end " + std::to_string(end) + ": other memory";
  }
  return {};
}

void check(Trouble trouble) {
  Totals totals;
  const std::uint32_t first = number_from("RDMOVE_SEED", 1);
  const std::uint32_t count = schedules(2'000);
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const Plan plan = Plan::random(seed);
    const std::string difference = compare(run_direct(plan), run_shadowed(plan, trouble, totals), plan);
    ASSERT_EQ(difference, "") << "RDMOVE_SEED=" << seed << " RDMOVE_SCHEDULES=1 runs it again";
    if (testing::Test::HasFailure()) FAIL() << "RDMOVE_SEED=" << seed;
  }
  std::cout << count << " schedules: " << totals.moves << " moves, " << totals.both
            << " begun during another, " << totals.rolled_back << " rolled back, " << totals.messages
            << " completions, " << totals.struck << " failed calls, " << totals.asked << " questions\n";
  // A test that never gets to the interesting places proves nothing.
  if (count < 100) return;
  EXPECT_GT(totals.moves, count);
  EXPECT_GT(totals.both, count / 10);
  EXPECT_GT(totals.rolled_back, count / 50);
  EXPECT_GT(totals.messages, 10 * count);
  if (trouble == Trouble::Faults) {
    EXPECT_GT(totals.struck, count);
  }
}

TEST(ShadowProperty, aProgramSeesTheSameWithAndWithoutMoves) {
  check(Trouble::None);
}

TEST(ShadowProperty, andAlsoWhenCallsFailAndMessagesBetweenGuestsAreLost) {
  check(Trouble::Faults);
}

}  // namespace
}  // namespace rdmove::shadow::test
