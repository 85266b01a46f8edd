// subnet_bench [ROUNDS]: a port moves from one switch to another of a simulated subnet, with its GUID; how long until
// OpenSM has the subnet up again by its own log, and until our questions to its SA say so. A line of JSON a round:
// {"opensm_ms":T,"resolved_ms":T}, both from the moment in which the cable is in. By hand; needs no root.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>

#include "coordinator/fabric/subnet/gid.hpp"
#include "migration-tests/subnet/simulated_subnet.hpp"

namespace rdmove {
namespace {

using Clock = std::chrono::steady_clock;
using subnet::SimulatedSubnet;

constexpr std::uint64_t kMover = 0x0002c90300770000;  // its port 1 has this + 1
const Gid kMoverGid(0xfe80000000000000, Guid(kMover + 1));

subnet::SubnetOptions twoSwitches() {
  subnet::SubnetOptions options;
  options.topology.add_switch("SW1", 8)
      .add_switch("SW2", 8)
      .link({"SW1", 8}, {"SW2", 8})
      .add_host("sm")
      .add_host("peer")
      .add_host("vm", kMover)
      .link({"sm", 1}, {"SW1", 1})
      .link({"peer", 1}, {"SW1", 2})
      .link({"vm", 1}, {"SW1", 3});
  return options;
}

std::string ask(subnet::Child& probe, const std::string& command) {
  probe.write(command + "\n");
  return probe.read_until("\n");
}

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int measure(int rounds) {
  SimulatedSubnet subnet(twoSwitches());
  const auto probe = subnet.start("peer", {RDMOVE_SUBNET_PROBE});
  for (int round = 0; round < rounds; ++round) {
    ask(*probe, "remember " + kMoverGid.str());
    subnet.clear({"vm", 1});
    const auto log = subnet.log_end();
    subnet.link({"vm", 1}, {round % 2 == 0 ? "SW2" : "SW1", 3});
    const auto start = Clock::now();
    auto ours = std::async(std::launch::async, [&] {
      auto answer = ask(*probe, "await-switch 30000");
      return std::pair(std::move(answer), since(start));
    });
    (void)subnet.wait_for_log("SUBNET UP", log);
    const double opensm = since(start);
    const auto [answer, resolved] = ours.get();
    if (!answer.starts_with("lid ")) {
      fmt::print(stderr, "subnet_bench: {}", answer);
      return 1;
    }
    fmt::print("{{\"opensm_ms\":{:.1f},\"resolved_ms\":{:.1f}}}\n", opensm, resolved);
  }
  return 0;
}

}  // namespace
}  // namespace rdmove

int main(int argc, char** argv) {
  if (const auto why = rdmove::subnet::SimulatedSubnet::why_not()) {
    fmt::print(stderr, "subnet_bench: {}\n", *why);
    return 1;
  }
  return rdmove::measure(argc > 1 ? std::atoi(argv[1]) : 10);
}
