// Exactly once and in order, whatever happens to the links: random schedules over the simulation.
// RDMOVE_SCHEDULES sets how many (migration-tests/check asks for fewer under sanitizers); the seed is
// printed, RC_PARAMS="seed=…" runs it again.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <iostream>

#include "guestagent/failover/channel/tests/simulation.hpp"
#include "guestagent/failover/connection/tests/schedules.hpp"

namespace rdmove::failover::channel::test {
namespace {

enum class Act : std::uint8_t {
  Send,
  Burst,
  Write,
  Read,
  Execute,
  Acknowledge,
  Poll,
  Flow,
  Connect,
  Call,
  BreakOwn,
  BreakBoth,
  Pause,
  Unpause,
  Pass,
  Echo,
  PauseInside,
  BreakOwnInside,
  BreakBothInside,
  ReconnectInside,
  RegionInside,
  FinishInside,
  Region,
  Quiesce,
  Finish
};

// How often each comes. rapidcheck makes one byte per step: its lowest bit is the side, the rest a place in
// here.
constexpr std::array kActs = {Act::Send,
                              Act::Send,
                              Act::Send,
                              Act::Send,
                              Act::Send,
                              Act::Send,
                              Act::Burst,
                              Act::Burst,
                              Act::Burst,
                              Act::Write,
                              Act::Write,
                              Act::Write,
                              Act::Read,
                              Act::Execute,
                              Act::Execute,
                              Act::Execute,
                              Act::Execute,
                              Act::Execute,
                              Act::Acknowledge,
                              Act::Acknowledge,
                              Act::Acknowledge,
                              Act::Poll,
                              Act::Poll,
                              Act::Poll,
                              Act::Poll,
                              Act::Poll,
                              Act::Poll,
                              Act::Flow,
                              Act::Flow,
                              Act::Flow,
                              Act::Flow,
                              Act::Flow,
                              Act::Connect,
                              Act::Connect,
                              Act::Connect,
                              Act::Connect,
                              Act::Connect,
                              Act::Call,
                              Act::Call,
                              Act::BreakOwn,
                              Act::BreakBoth,
                              Act::Pause,
                              Act::Unpause,
                              Act::Pass,
                              Act::Echo,
                              Act::PauseInside,
                              Act::BreakOwnInside,
                              Act::BreakBothInside,
                              Act::ReconnectInside,
                              Act::RegionInside,
                              Act::Region,
                              Act::Quiesce};

void step(World& world, int side, Act act) {
  Side& at = world[side];
  switch (act) {
    case Act::Send:
      return at.send();
    case Act::Burst:
      for (int i = 0; i < 12; ++i) at.send();
      return;
    case Act::Write:
      return at.write();
    case Act::Read:
      return at.read();
    case Act::Execute:
      return world.execute(side);
    case Act::Acknowledge:
      return world.acknowledge(side);
    case Act::Poll:
      return world.poll(side);
    case Act::Flow:
      for (int i = 0; i < 24; ++i) world.execute(i & 1), world.acknowledge(i & 1), world.poll(i & 1);
      return;
    case Act::Connect:
      world.connect(side), world.connect(0), world.connect(1);
      return;
    case Act::Call:  // and what comes next, comes before it is up
      return world.connect(side);
    case Act::BreakOwn:
      return world.take_down(side);
    case Act::BreakBoth:
      return world.take_down(0), world.take_down(1);
    case Act::Pause:
      return at.session_.pause();
    case Act::Unpause:
      return at.session_.unpause();
    case Act::Pass:
      return world.pass(std::chrono::milliseconds(3));
    case Act::Echo:
      at.next_mischief_ = Mischief::Echo;
      return;
    case Act::PauseInside:
      at.next_mischief_ = Mischief::Pause;
      return;
    case Act::BreakOwnInside:
      at.next_mischief_ = Mischief::BreakOwn;
      return;
    case Act::BreakBothInside:
      at.next_mischief_ = Mischief::BreakBoth;
      return;
    case Act::ReconnectInside:
      at.next_mischief_ = Mischief::Reconnect;
      return;
    case Act::RegionInside:
      at.next_mischief_ = Mischief::Region;
      return;
    case Act::FinishInside:
      at.next_mischief_ = Mischief::Finish;
      return;
    case Act::Region:
      return at.toggle_region();
    case Act::Quiesce:
      return at.quiesce();
    case Act::Finish:
      at.is_finishing_ = true, (void)at.session_.finish();
      return;
  }
}

struct Totals {
  int schedules = 0;
  std::uint64_t links = 0, greeted = 0, delivered = 0, resent = 0, duplicates = 0, one_sided = 0, unknown = 0;
};

void check_progress(World& world) {
  world.check(world.settle(), "once the link is stable, all comes to rest");
  for (int side = 0; side < 2; ++side) {
    Side& at = world[side];
    Side& other = world[1 - side];
    world.check(other.delivered_ == at.accepted_, "once the link is stable, all is delivered");
    world.check(at.reported_ == at.accepted_, "once the link is stable, all is acknowledged");
    world.check(at.writes_done_ + at.failed_one_sided_ == at.writes_,
                "once the link is stable, all writes are done");
    world.check(at.failed_one_sided_ == 0, "no write to a region that is shown fails");
    world.check(other.shown_[0] == at.writes_, "the last write is what stays");
    world.check(at.reads_done_ == at.reads_, "once the link is stable, all reads are done");
    world.check(!at.is_finishing_ || at.is_finished_, "once the link is stable, a goodbye is heard");
  }
}

void check_end(World& world, int side) {
  Side& at = world[side];
  const std::uint64_t delivered = world[1 - side].delivered_;
  const ChannelEnd end = at.session_.end({GoneReason::TimedOut, "test"});
  world.check(end.acknowledged == MessageRange{1, at.reported_}, "the end tells what was acknowledged");
  world.check(end.acknowledged.last <= delivered, "what the end calls acknowledged is delivered");
  world.check(end.unknown.first == end.acknowledged.last + 1, "the ranges have no gap");
  world.check(end.unsent.first == end.unknown.last + 1 && end.unsent.last == at.accepted_,
              "the ranges are all");
  world.check(delivered <= end.unknown.last, "what the end calls unsent is not delivered");
  world.check(at.writes_done_ + at.failed_one_sided_ == at.writes_, "no operation is left without an answer");
  world.check(at.reads_done_ == at.reads_, "no operation is left without an answer");
}

void run_schedule(Totals& totals) {
  const auto shape = *rc::gen::arbitrary<std::array<std::uint8_t, 4>>();
  const auto steps =
      *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 2 * kActs.size()));
  const auto limits = [](unsigned slots, unsigned receives) {
    return Limits{static_cast<std::uint16_t>(1 + slots % 12), static_cast<std::uint16_t>(8 + receives % 6),
                  8 + slots / 16, receives % 4 != 0, receives % 5 != 0};
  };
  World world(limits(shape[0], shape[1]), limits(shape[2], shape[3]));
  step(world, 0, Act::Connect);
  if (shape[0] % 8 != 0) step(world, 0, Act::Flow);  // most begin with a link that is ready
  for (const std::uint8_t what : steps) step(world, what & 1, kActs[what >> 1U]);
  if (shape[2] % 8 == 0) step(world, shape[3] & 1, shape[3] % 4 < 2 ? Act::Finish : Act::FinishInside);

  for (int side = 0; side < 2; ++side) {
    const auto& stream = world[side].session_.stream();
    totals.resent += stream.resent();
    totals.unknown += stream.posted_messages() - stream.acknowledged();
    totals.duplicates += world[side].session_.counters().duplicates;
  }
  if (shape[0] % 4 == 0) {
    check_end(world, 0), check_end(world, 1);
  } else {
    check_progress(world);
  }
  for (int side = 0; side < 2; ++side) {
    world.check(world[side].broken_rules_.empty(), "honest ends break no rule");
    if (!world[side].broken_rules_.empty()) RC_LOG() << world[side].broken_rules_.front() << "\n";
    totals.delivered += world[side].delivered_;
    totals.one_sided += world[side].writes_done_ + world[side].reads_done_;
  }
  totals.links += world[0].generation_;
  totals.greeted += world.greeted_;
  ++totals.schedules;
  if (!world.failure().empty()) RC_FAIL(world.failure());
}

TEST(ChannelProperty, deliversOnceAndInOrderWhateverBreaks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int schedules = conn::fake::schedules(10'000);
#else
  const int schedules = conn::fake::schedules(100'000);
#endif
  Totals totals;
  const bool held = conn::fake::holds_for(schedules, 300, [&] { run_schedule(totals); });
  std::cout << totals.schedules << " schedules: " << totals.links << " links, " << totals.greeted
            << " of them without hellos, " << totals.delivered << " messages delivered, " << totals.resent
            << " sent again, " << totals.duplicates << " duplicates dropped, " << totals.unknown
            << " of unknown fate at the schedule's end, " << totals.one_sided << " one-sided operations\n";
  ASSERT_TRUE(held);
  // A test that never gets to the interesting places proves nothing.
  const auto each = static_cast<std::uint64_t>(schedules);
  EXPECT_GE(totals.schedules, schedules);
  EXPECT_GT(totals.links, 2 * each);
  EXPECT_GT(totals.greeted, each / 4);
  EXPECT_GT(totals.delivered, 10 * each);
  EXPECT_GT(totals.resent, each);
  EXPECT_GT(totals.unknown, each);
  // A hello counts exactly what was delivered, so that nothing goes twice for nothing.
  EXPECT_EQ(totals.duplicates, 0U);
  EXPECT_GT(totals.one_sided, each);
}

}  // namespace
}  // namespace rdmove::failover::channel::test
