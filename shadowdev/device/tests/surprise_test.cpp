// The device goes without warning, at any point of a random program and of a move: nothing is executed twice
// or out of order, nothing is lost without an error. RDMOVE_SCHEDULES and RDMOVE_SEED as in
// property_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "shadowdev/device/tests/schedules.hpp"
#include "shadowdev/device/tests/traffic.hpp"
#include "shadowdev/device/tests/world.hpp"

namespace rdmove::shadow::test {
namespace {

struct Totals {
  std::uint64_t while_moving = 0, flushed = 0, fatal = 0, successes = 0;
};

std::set<const ibv_qp*> fatal_queue_pairs(Verbs& verbs, const Side& side) {
  std::set<const ibv_qp*> all;
  fcntl(side.context()->async_fd, F_SETFL, O_NONBLOCK);
  ibv_async_event event{};
  while (verbs.get_async_event(side.context(), &event) == 0) {
    if (event.event_type == IBV_EVENT_QP_FATAL) all.insert(event.element.qp);
    verbs.ack_async_event(&event);
  }
  return all;
}

bool is_prefix(const std::vector<Seen>& of, const std::vector<Seen>& whole) {
  for (std::size_t i = 0; i < of.size() && of[i].status == IBV_WC_SUCCESS; ++i)
    if (i >= whole.size() || !(of[i] == whole[i])) return false;
  return true;
}

/// Each end's receives when nothing happens.
std::vector<std::vector<Seen>> expected_receives(const Plan& plan, unsigned end) {
  fake::Fabric fabric(1);
  fabric.add_device("left0", 1);
  fabric.add_device("right0", 2);
  fake::FakeVerbs verbs(fabric);
  std::mt19937 random(1);
  Side a(verbs, "left0", plan, 0), b(verbs, "right0", plan, 1);
  Side::connect(a, b);
  for (unsigned i = 0; i < 100'000 && !(a.complete() && b.complete()); ++i) {
    a.act(random);
    b.act(random);
    fabric.step();
  }
  std::vector<std::vector<Seen>> all;
  for (const Side::Queue& queue : (end == 0 ? a : b).queues) all.push_back(queue.receives);
  return all;
}

std::string run(const Plan& plan, bool records, Totals& totals) {
  fake::Fabric fabric(plan.seed + 2);
  Exchange exchange;
  std::mt19937 random(plan.seed + 3);
  const ShadowOptions options{.records = records, .seed = plan.seed + 4};
  Process left(fabric, exchange, "left", 1, options), right(fabric, exchange, "right", 2, options);
  Side a(left.verbs, "left0", plan, 0), b(right.verbs, "right0", plan, 1);
  Side::connect(a, b);
  Move move(left, a.context());
  const unsigned rounds = random() % 250;
  const unsigned begins = random() % 300;
  for (unsigned i = 0; i < rounds || move.at() == Move::At::Away; ++i) {
    a.act(random);
    b.act(random);
    if (random() % 2 == 0) fabric.step();
    if (i >= begins) move.step();
  }
  const bool moving = move.at() == Move::At::Parking || move.at() == Move::At::Restoring;
  totals.while_moving += moving ? 1 : 0;
  fabric.surprise_remove(left.device, random() % 2 == 0 ? fake::Loss::LastCompletions : fake::Loss::Nothing);
  for (unsigned i = random() % 10; i > 0; --i) {  // before anybody has noticed
    a.act(random);
    b.act(random);
    fabric.step();
  }
  move.mover().lose();
  for (unsigned i = 0; i < 400; ++i) {
    a.act(random);
    b.act(random);
    fabric.run(50);
  }
  const auto fatal_left = fatal_queue_pairs(left.verbs, a);
  const auto fatal_right = fatal_queue_pairs(right.verbs, b);
  const auto left_expects = expected_receives(plan, 0);
  const auto right_expects = expected_receives(plan, 1);
  for (unsigned pair = 0; pair < plan.pairs; ++pair) {
    const std::string where = "pair " + std::to_string(pair) + ": ";
    const bool said_left = fatal_left.contains(a.queues[pair].qp);
    const bool said_right = fatal_right.contains(b.queues[pair].qp);
    totals.fatal += said_left ? 1 : 0;
    for (const Seen& seen : a.queues[pair].sends)
      ++(seen.status == IBV_WC_SUCCESS ? totals.successes : totals.flushed);
    if (!said_left) return where + "nobody told the program that its QP is gone";
    if (a.queues[pair].qp->state != IBV_QPS_ERR) return where + "not in ERR";
    std::string word = a.unanswered(pair, records);
    // Without records the event is the error of what was under way; order and "once" hold all the same.
    if (word.starts_with("no completion") && !records) word.clear();
    if (!word.empty()) return where + "the end that lost its device: " + word;
    word = b.unanswered(pair, false);
    if (word.starts_with("no completion") && said_right) word.clear();
    if (!word.empty()) return where + "the other end: " + word;
    if (!is_prefix(a.queues[pair].receives, left_expects[pair]) ||
        !is_prefix(b.queues[pair].receives, right_expects[pair]))
      return where + "other messages were received than sent, or in another order";
    if (!b.is_as_after_some_of(a, pair)) return where + "a request was executed twice, or out of order";
    if (!a.is_as_after_some_of(b, pair))
      return where + "a request towards the lost device was executed twice";
  }
  return {};
}

void check(bool records) {
  Totals totals;
  const std::uint32_t first = number_from("RDMOVE_SEED", 1);
  const std::uint32_t count = schedules(1'000);
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    ASSERT_EQ(run(Plan::random(seed), records, totals), "")
        << "RDMOVE_SEED=" << seed << " RDMOVE_SCHEDULES=1";
    if (testing::Test::HasFailure()) FAIL() << "RDMOVE_SEED=" << seed;
  }
  std::cout << count << " surprises, " << totals.while_moving
            << " in the middle of a move: " << totals.successes << " sends had completed, " << totals.flushed
            << " ended in errors, " << totals.fatal << " QPs reported gone\n";
  if (count < 100) return;
  EXPECT_GT(totals.while_moving, count / 10);
  EXPECT_GT(totals.successes, count);
  EXPECT_GT(totals.fatal, count);
  if (records) {
    EXPECT_GT(totals.flushed, count);
  }
}

TEST(Surprise, withoutRecordsTheProgramIsToldAndNothingRunsTwice) {
  check(false);
}

TEST(Surprise, withRecordsEveryRequestHasItsOwnError) {
  check(true);
}

}  // namespace
}  // namespace rdmove::shadow::test
