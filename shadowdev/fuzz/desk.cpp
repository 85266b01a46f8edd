// What a peer's shadow may ask, in any order and with any numbers, while data moves: it reaches the one QP
// that is connected to its own GID, and a stranger reaches none; whatever it does, the program can go. Eight
// bytes a question: what, who asks (odd: a stranger), about which QP, epoch, physical number, PSN, pairs,
// steps that the wire makes meanwhile.
#include <gtest/gtest.h>

#include "guestagent/fuzz/target.hpp"
#include "shadowdev/device/peer_desk.hpp"
#include "shadowdev/device/shadow_verbs.hpp"
#include "shadowdev/fakeverbs/fabric.hpp"
#include "shadowdev/fakeverbs/testkit.hpp"

namespace rdmove::fuzz {
namespace {

using namespace rdmove::shadow;
using fake::End;
using fake::Fabric;

constexpr std::size_t kStep = 8;

Phase phase_of(const End& end) {
  return static_cast<VirtualQp*>(end.qp)->phase.load();
}

Question question_of(std::span<const std::uint8_t> step, const End& peer, const End& ours, const End& other) {
  Question question;
  question.ask = Ask{static_cast<std::uint8_t>(1 + step[0] % 11)};
  question.from_number = peer.qp->qp_num;
  const std::uint32_t numbers[] = {ours.qp->qp_num, other.qp->qp_num, 0xABCDEF};
  question.to_number = numbers[step[2] % 3];
  question.from_epoch = step[3] % 4;
  question.physical_number = step[4] % 2 == 0 ? peer.qp->qp_num : step[4];
  question.psn = step[5];
  for (std::uint32_t i = 0; i < step[6] % 4; ++i) question.pairs.emplace_back(step[6] + i, step[4] + i);
  return question;
}

}  // namespace

void run(std::span<const std::uint8_t> input) {
  Fabric fabric(3);
  for (const auto& [name, guid] : {std::pair{"ours", 1}, std::pair{"peer", 2}, std::pair{"third", 3}})
    fabric.add_device(name, static_cast<std::uint64_t>(guid));
  fake::FakeVerbs below(fabric);
  ShadowOptions options;
  options.quiesce_within = std::chrono::milliseconds(0);
  ShadowVerbs verbs(below, nullptr, options);
  PeerDesk desk(verbs.engine());
  {
    End a(verbs, "ours"), c(verbs, "ours"), b(below, "peer"), d(below, "third");
    End::connect(a, b);
    End::connect(c, d);
    // Nobody answers here, so they have met nobody: as if their peers' shadows had been there.
    for (const End* one : {&a, &c}) static_cast<VirtualQp*>(one->qp)->alone = false;
    for (std::uint64_t i = 0; i < 4; ++i) require(a.receive(i, 64 * i, 64) == 0, "a receive is refused");
    require(a.send(IBV_WR_SEND, 9, 0, 8, IBV_SEND_SIGNALED) == 0, "a send is refused");
    for (std::size_t at = 0; at + kStep <= input.size() && at < 64 * kStep; at += kStep) {
      const auto step = input.subspan(at, kStep);
      const bool stranger = step[1] % 2 == 1;
      const Phase before = phase_of(a);
      const auto from = Fabric::gid_of(stranger ? 4 : 2);
      const auto answer = desk.answer(from, Fabric::gid_of(1), encode(question_of(step, b, a, c)));
      require(decode_answer(answer).has_value(), "an answer cannot be read");
      require(!stranger || phase_of(a) == before, "a stranger has moved a QP");
      require(phase_of(c) == Phase::Direct, "a peer has moved the QP of another");
      fabric.run(step[7] % 8);
    }
    a.poll();
  }
  require(!testing::Test::HasFailure(), "the program cannot go");
}

}  // namespace rdmove::fuzz
