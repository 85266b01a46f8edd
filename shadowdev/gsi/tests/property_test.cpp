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

/// Bytes of which the header is often one that the port knows.
Datagram noise(const std::vector<std::uint8_t>& bytes) {
  constexpr std::uint8_t kClasses[] = {0x01, 0x03, 0x03, 0x03, 0x04, 0x06, 0x07, 0x07, 0x81};
  constexpr std::uint8_t kMethods[] = {0x01, 0x02, 0x03, 0x05, 0x06, 0x12,
                                       0x14, 0x15, 0x81, 0x86, 0x92, 0x95};
  constexpr std::uint16_t kAttributes[] = {0x01, 0x02, 0x03, 0x10, 0x12, 0x13, 0x15,
                                           0x17, 0x18, 0x19, 0x30, 0x31, 0x35, 0x38};
  Datagram datagram;
  for (std::size_t i = 0; i < bytes.size() && i < Mad::kBytes; ++i)
    datagram.mad.bytes()[i] = static_cast<std::byte>(bytes[i]);
  const auto at = [&](std::size_t i) { return i < bytes.size() ? bytes[i] : std::uint8_t{0}; };
  datagram.mad.set_field<0>(std::uint8_t{1});
  datagram.mad.set_field<1>(kClasses[at(1) % std::size(kClasses)]);
  datagram.mad.set_field<3>(kMethods[at(3) % std::size(kMethods)]);
  datagram.mad.set_field<8>(std::uint32_t{0});
  datagram.mad.set_field<12>(
      static_cast<std::uint32_t>(at(12) % 3U << 24U | at(13) % 4U << 12U | at(14) % 4U));
  datagram.mad.set_field<16>(kAttributes[at(17) % std::size(kAttributes)]);
  datagram.remote = at(20) % 4U == 0 ? kPeer : kSubnetManager;
  if (at(21) % 2U == 0)
    datagram = with_grh(datagram, gid_of(function(at(22) % 4U)), gid_of(function(at(23) % 4U)));
  return datagram;
}

TEST(GsiProperty, noBytesDoHarm) {
  EXPECT_TRUE(
      rc::check("no bytes do harm", [](const std::vector<std::vector<std::uint8_t>>& all, bool by_gid) {
        FakeTime time;
        PortOptions with = options();
        with.cm = by_gid ? CmStrategy::ByGid : CmStrategy::ByCommId;
        SharedPort port(with, time);
        for (unsigned i = 0; i < 3; ++i)
          RC_ASSERT(port.add_function(function(i), {gid_of(function(i))}).has_value());
        for (const auto& bytes : all) {
          const Datagram datagram = noise(bytes);
          if (bytes.size() % 2 == 0) {
            port.from_wire(datagram);
          } else {
            port.from_function(function(static_cast<unsigned>(bytes.size() / 2 % 4)), datagram);
          }
          if (bytes.size() % 16 == 0) time.pass(milliseconds{500}), port.tick();
          while (const auto next = port.to_functions()) RC_ASSERT(port.has_function(next->owner));
          // What leaves for the administrator may come back as an answer.
          while (const auto next = port.to_wire()) {
            if (response_to(next->mad.method())) port.from_wire(accepted(*next));
          }
        }
        const auto state = port.take_out(function(1));
        RC_ASSERT(state.has_value());
        RC_ASSERT(parse(serialise(*state).value()) == *state);
      }));
}

TEST(GsiProperty, noBytesAreAStateUnlessTheyAreOne) {
  EXPECT_TRUE(rc::check("no bytes are a state", [](std::vector<std::uint8_t> bytes, bool looks_right) {
    if (looks_right && bytes.size() >= 8) {
      constexpr std::uint8_t kBegin[] = {'R', 'G', 'F', 'S', 0, 1, 0, 0};
      std::copy(std::begin(kBegin), std::end(kBegin), bytes.begin());
    }
    RC_ASSERT(!parse(std::as_bytes(std::span(bytes))).has_value());
  }));
}

}  // namespace
}  // namespace rdmove::gsi::test
