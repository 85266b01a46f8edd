// Verbs programs that know nothing of rdmove, as their distribution ships them: under rdmove-shadow, in the
// VM that moves and in its peer, they run on over moves and find every byte of what they have sent. What RC
// owes them is asked of RC; UC and UD may lose a message by right, and then such a program waits for ever: it
// is tried again, and counted.
#include <cstdlib>
#include <iostream>

#include "shadowed.hpp"

namespace rdmove::lab {
namespace {

/// "2500 iters in 39.43 seconds = 15770.79 usec/iter"
double microseconds_per_iteration(const std::string& log) {
  const auto equals = log.rfind("seconds = ");
  if (equals == std::string::npos || log.find("usec/iter") == std::string::npos) return 0;
  return std::atof(log.c_str() + equals + 10);
}

struct Program {
  std::string words;
  bool may_lose = false;
};

void PrintTo(const Program& program, std::ostream* out) {
  *out << program.words;
}

class ShadowProof : public Shadow, public testing::WithParamInterface<Program> {
 protected:
  /// How many iterations take so long on this machine, now.
  static int iterations_of(const Program& program, seconds time) {
    const std::string words = program.words + " -n 200";
    Shadowed server("peer", "shadow-server", words);
    Shadowed client("vm1", "shadow-client", connected(words));
    EXPECT_TRUE(client.ends(seconds(60)) && server.ends(seconds(10))) << client.log() << server.log();
    const double each = microseconds_per_iteration(client.log());
    EXPECT_GT(each, 0) << client.log() << server.log();
    return each > 0 ? static_cast<int>(static_cast<double>(time.count()) * 1e6 / each) : 0;
  }
  /// A program and its server's address, once that listens: it does not try again.
  static std::string connected(const std::string& words) {
    const auto listens = [] {
      return guest("peer", "grep -q ':4853 ' /proc/net/tcp /proc/net/tcp6").status == 0;
    };
    EXPECT_TRUE(within(seconds(20), listens)) << "nobody listens at port 18515";
    return words + " " + kPeer;
  }

  /// False: a message was lost, by right, and it waits.
  static bool runs_through(const Program& program, const std::vector<Step>& steps) {
    const int iterations = iterations_of(program, seconds(20) * static_cast<int>(steps.size()));
    if (HasFailure()) return true;
    const std::string words = program.words + " -n " + std::to_string(iterations);
    Shadowed server("peer", "shadow-server", words);
    Shadowed client("vm1", "shadow-client", connected(words));
    for (const Step& step : steps) {
      EXPECT_TRUE(client.runs() && server.runs()) << client.log() << server.log();
      move(step);
    }
    EXPECT_TRUE(client.runs() && server.runs())
        << "it had ended before the last move had: " << client.log() << server.log();
    if (!client.ends(seconds(200)) || !server.ends(seconds(20))) {
      EXPECT_TRUE(program.may_lose) << "it waits: " << client.log() << server.log();
      return false;
    }
    for (const Shadowed* one : {&client, &server}) {
      EXPECT_EQ(one->status(), "0\n") << one->log();
      EXPECT_NE(one->log().find(std::to_string(iterations) + " iters in"), std::string::npos) << one->log();
    }
    std::cout << "    " << program.words << ": " << iterations << " iterations, " << steps.size()
              << " moves\n";
    return true;
  }
  static void prove(const Program& program, const std::vector<Step>& steps) {
    for (int tries = 1; !HasFailure(); ++tries) {
      if (runs_through(program, steps)) return;
      std::cout << "    " << program.words << ": lost a message, as it may; tried again\n";
      ASSERT_LT(tries, 4) << "every try has lost one";
      for (const Step& step : steps) {
        if (state(step.from, step.vm) == "running") continue;
        move({step.vm, step.to, step.from});
      }
    }
  }
};

TEST_P(ShadowProof, as_mover_and_as_peer_there_and_back) {
  prove(GetParam(), kBothThereAndBack);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, ShadowProof,
    testing::Values(Program{"ibv_rc_pingpong -c -g 1"}, Program{"ibv_rc_pingpong -c -e -g 1"},
                    Program{"ibv_rc_pingpong -c -N -g 1"}, Program{"ibv_srq_pingpong -c -g 1"},
                    Program{"ibv_srq_pingpong -c -e -g 1"}, Program{"ibv_uc_pingpong -c -g 1", true},
                    Program{"ibv_ud_pingpong -c -s 1024 -g 1", true},
                    Program{"ibv_ud_pingpong -c -e -s 1024 -g 1", true}));

class ShadowSample : public ShadowProof {};

TEST_P(ShadowSample, there_and_back) {
  prove(GetParam(), kThereAndBack);
}

INSTANTIATE_TEST_SUITE_P(Programs, ShadowSample, testing::Values(Program{"ibv_rc_pingpong -c -e -g 1"}));

}  // namespace
}  // namespace rdmove::lab
