// identity_bench PF VFS ROUNDS: VFs of an InfiniBand PF get an identity and lose it again, by the transaction
// and by the `ip link` commands of a shell script that reads back as well. A line of JSON a round:
// {"vfs":N,"transaction_us":T,"shell_us":S}. As root, where the PF is (labib in a guest of the lab).
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "coordinator/fabric/identity/vf_identity.hpp"

namespace rdmove::fabric {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

constexpr std::uint64_t first_guid = 0x0002c903000a0000;

Guid portGuidOf(unsigned vf) {
  return Guid(first_guid + vf);
}
Guid nodeGuidOf(unsigned vf) {
  return Guid(first_guid + 0x1000 + vf);
}

[[noreturn]] void giveUp(const std::string& why) {
  fmt::print(stderr, "identity_bench: {}\n", why);
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) giveUp(result.error().sentence());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

template <class Work>
long timed(Work work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration_cast<Microseconds>(Clock::now() - start).count();
}

void transact(VfIdentity& identity, const std::string& pf, unsigned vf) {
  VfPlace at;
  at.pf.netdev = pf;
  at.pf.layer = LinkLayer::kInfiniBand;
  at.index = vf;
  at.pci = fmt::format("VF {} of {}", vf, pf);
  Identity wanted;
  wanted.node_guid = nodeGuidOf(vf);
  wanted.port_guid = portGuidOf(vf);
  const auto memory = must(identity.plan(at, wanted, std::nullopt));
  must(identity.stage(at, wanted, memory));
  must(identity.give(at, wanted, memory, Owner::kAllOurs));
  must(identity.take(at, wanted, memory));
}

/// What an administrator's script does that is as careful: each setting, and a look at what became of it.
std::string scriptFor(const std::string& pf, unsigned vfs) {
  std::string out = "set -e\nvf() { ip link set \"$pf\" vf \"$@\"; }\npf=" + pf + "\n";
  const std::string look = "ip link show \"$pf\" >/dev/null\n";
  for (unsigned vf = 0; vf < vfs; ++vf) {
    out += look;
    out += fmt::format("vf {0} state disable; vf {0} node_guid {1}; vf {0} port_guid {2}\n", vf,
                       nodeGuidOf(vf).str(), portGuidOf(vf).str());
    out += look + fmt::format("vf {} state auto\n", vf) + look;
    out +=
        fmt::format("vf {0} state disable; vf {0} port_guid {1}; vf {0} node_guid {1}; vf {0} state auto\n",
                    vf, Guid().str());
    out += look;
  }
  return out;
}

void measure(const std::string& pf, unsigned vfs, int rounds) {
  const std::string script = "/tmp/identity-bench.sh";
  std::ofstream(script) << scriptFor(pf, vfs);
  const std::string command = "/bin/sh " + script;
  const auto files = makeSysfsFiles();
  const auto port = makeVfPorts(*files, makeNetlinkVfPort());
  VfIdentity identity(*files, *port);
  for (int round = 0; round < rounds; ++round) {
    const auto ours = timed([&] {
      for (unsigned vf = 0; vf < vfs; ++vf) transact(identity, pf, vf);
    });
    const auto theirs = timed([&] {
      if (std::system(command.c_str()) != 0) giveUp("the script failed: " + script);
    });
    fmt::print("{{\"vfs\":{},\"transaction_us\":{},\"shell_us\":{}}}\n", vfs, ours, theirs);
  }
}

}  // namespace
}  // namespace rdmove::fabric

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: identity_bench PF VFS ROUNDS\n", stderr);
    return 2;
  }
  rdmove::fabric::measure(argv[1], static_cast<unsigned>(std::atoi(argv[2])), std::atoi(argv[3]));
  return 0;
}
