// rdmove-agent costs a guest next to nothing while nothing happens: the kernel's own figures of the process.
#include <sstream>

#include "lab.hpp"

namespace rdmove::lab {
namespace {

class AgentLimits : public Lab {
 protected:
  struct Figures {
    long rss_kib = -1;
    long cpu_ticks = -1;
    long voluntary_switches = -1;
  };

  /// `count` looks at the agent, a second apart, in one command: the looks themselves are nothing that it
  /// sees.
  static std::vector<Figures> look(int count) {
    const Outcome outcome =
        guest("vm1",
              "p=$(pidof rdmove-agent); [ -d /proc/$p ] || { echo \"agents: $p\"; exit 1; }; "
              "for i in $(seq " +
                  std::to_string(count) +
                  "); do [ $i = 1 ] || sleep 1; "
                  "awk '/^VmRSS:/ {print $2}' /proc/$p/status; "
                  "awk '{print $14 + $15}' /proc/$p/stat; "
                  "awk '/^voluntary_ctxt_switches:/ {print $2}' /proc/$p/status; done");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    std::istringstream text(outcome.output);
    std::vector<Figures> all;
    for (Figures f; text >> f.rss_kib >> f.cpu_ticks >> f.voluntary_switches;) all.push_back(f);
    return all;
  }
};

TEST_F(AgentLimits, resident_memory_is_under_16_MiB_and_idle_costs_no_cpu) {
  startBeat("vm1");  // an application that is registered costs nothing either
  ASSERT_EQ(rdmove("hosta", {"agent", "vm1", "status"}).status, 0);
  const auto figures = look(4);
  ASSERT_EQ(figures.size(), 4U);
  const Figures& first = figures.front();
  const Figures& last = figures.back();
  EXPECT_GT(last.rss_kib, 0);
  EXPECT_LT(last.rss_kib, 16 * 1024);
  EXPECT_EQ(last.cpu_ticks, first.cpu_ticks) << "it used CPU while idle";
  EXPECT_LE(last.voluntary_switches - first.voluntary_switches, 1) << "it woke up while idle";
}

}  // namespace
}  // namespace rdmove::lab
