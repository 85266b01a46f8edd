// Verbs programs that know nothing of rdmove, as their distribution ships them: under rdmove-shadow, in the
// VM that moves and in its peer, they run on over moves and find every byte of what they have sent. What RC
// owes them is asked of RC; UC and UD may lose a message by right, and then such a program waits for ever: it
// is tried again, and counted.
#include <cstdlib>
#include <iostream>

#include "lab.hpp"

namespace rdmove::lab {
namespace {

struct Shell : Lab {
  void TestBody() override {}
  using Lab::guest;
  using Lab::within;
};

/// One program in a guest, by the name of its files in /run.
class Shadowed {
 public:
  Shadowed(std::string vm, std::string name, const std::string& words)
      : vm_(std::move(vm)), name_(std::move(name)) {
    Shell::guest(vm_, "rm -f /run/" + name_ +
                          ".*; (rdmove-shadow run --require --libraries /usr/lib/rdmove/shadow -- " + words +
                          " >" + file("log") + " 2>&1 </dev/null & echo $! >" + file("pid") +
                          "; wait $!; echo $? >" + file("status") + ") >/dev/null 2>&1 &");
  }
  ~Shadowed() {
    if (runs()) Shell::guest(vm_, "kill -KILL $(cat " + file("pid") + ")");
  }
  Shadowed(const Shadowed&) = delete;
  Shadowed& operator=(const Shadowed&) = delete;

  [[nodiscard]] bool runs() const {
    return Shell::guest(vm_, "! [ -s " + file("status") + " ] && kill -0 $(cat " + file("pid") + ")")
               .status == 0;
  }
  [[nodiscard]] bool ends(seconds limit) const {
    return Shell::within(limit, [this] { return !runs(); });
  }
  [[nodiscard]] std::string status() const { return Shell::guest(vm_, "cat " + file("status")).output; }
  [[nodiscard]] std::string log() const { return Shell::guest(vm_, "cat " + file("log")).output; }

 private:
  [[nodiscard]] std::string file(const char* kind) const { return "/run/" + name_ + "." + kind; }
  std::string vm_;
  std::string name_;
};

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

class Shadow : public Lab {
 protected:
  static constexpr const char* kPeer = "10.77.0.100";

  static void move(const std::string& vm, const std::string& from, const std::string& to) {
    // An emulated guest needs more than the 2 s that are the default.
    const Outcome moved = rdmove(from, {"migrate", vm, to, "--prepare-deadline", "20000"});
    EXPECT_EQ(moved.status, 0) << moved.output;
  }
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
};

struct Step {
  const char *vm, *from, *to;
};

class ShadowProof : public Shadow, public testing::WithParamInterface<Program> {
 protected:
  /// False: a message was lost, by right, and it waits.
  static bool runs_through(const Program& program, const std::vector<Step>& steps) {
    const int iterations = iterations_of(program, seconds(20) * static_cast<int>(steps.size()));
    if (HasFailure()) return true;
    const std::string words = program.words + " -n " + std::to_string(iterations);
    Shadowed server("peer", "shadow-server", words);
    Shadowed client("vm1", "shadow-client", connected(words));
    for (const Step& step : steps) {
      EXPECT_TRUE(client.runs() && server.runs()) << client.log() << server.log();
      move(step.vm, step.from, step.to);
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
        move(step.vm, step.to, step.from);
      }
    }
  }
};

const std::vector<Step> kThereAndBack = {{"vm1", "hosta", "hostb"}, {"vm1", "hostb", "hosta"}};

TEST_P(ShadowProof, as_mover_and_as_peer_there_and_back) {
  prove(GetParam(), {{"vm1", "hosta", "hostb"},
                     {"vm1", "hostb", "hosta"},
                     {"peer", "hostb", "hosta"},
                     {"peer", "hosta", "hostb"}});
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
