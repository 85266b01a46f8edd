#include "migration-tests/harness/load.hpp"

#include <fmt/format.h>

#include <future>

#include "migration-tests/harness/within.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

constexpr int kPort = 7473;
constexpr const char* kStatus = "/run/failover-ping.json";

/// Runs `command` in the background of a guest, with its pid in /run/NAME.pid.
std::string inBackground(const std::string& name, const std::string& command) {
  return fmt::format("({0}) >/run/{1}.log 2>&1 </dev/null & echo $! >/run/{1}.pid", command, name);
}

std::string endOf(const std::string& name) {
  return fmt::format("[ -s /run/{0}.pid ] && kill -9 $(cat /run/{0}.pid) 2>/dev/null; rm -f /run/{0}.pid; ",
                     name);
}

}  // namespace

LoadView LoadRun::loadIn(const Guest& guest, std::initializer_list<const char*> programs) {
  std::string script;
  for (const char* program : programs) script += fmt::format("kill -0 $(cat /run/{}.pid) && ", program);
  return loadOf(text(guest.in(script + "head -n 1 " + kStatus)));
}

bool LoadRun::look() {
  client_ = loadIn(vm_, {kPing, kTicks});
  return client_.answers && client_.connections > 0 && client_.up == client_.connections;
}

bool LoadRun::goesOn() {
  auto peer = std::async(std::launch::async, [this] { return server(); });
  const bool up = look() && client_.connections == static_cast<std::uint64_t>(load_.connections);
  const LoadView at_peer = peer.get();
  const auto clean = [](const LoadView& view) {
    return view.answers && view.lost + view.duplicated + view.reordered + view.corrupted == 0;
  };
  return up && clean(client_) && clean(at_peer);
}

std::string LoadRun::start() {
  if (goesOn()) return "";
  const std::string fresh = endOf(kPing) + fmt::format("rm -f {}; ", kStatus);
  const std::string program =
      fmt::format("exec rdmove-ping --port {} --status-file {} --give-up 600 ", kPort, kStatus);
  run(peer_.in(fresh + inBackground(kPing, program + "--server")));
  if (!within(seconds(20), [&] { return server().answers; }))
    return "rdmove-ping does not start on the peer: " + text(peer_.in("tail -n 3 /run/failover-ping.log"));
  const std::string client = fmt::format("{}{} --connections {} --rate {} --size 256", program, peer_.address,
                                         load_.connections, load_.rate);
  run(vm_.in(
      fresh + inBackground(kPing, client) + "; " + endOf(kTicks) +
      inBackground(
          kTicks,
          "i=0; while :; do i=$((i+1)); echo \"tick $i\" >/dev/ttyS0; usleep 20000 || sleep 0.02; done")));
  if (flows(seconds(40))) return "";
  return "the RDMA connections do not come up: " + text(vm_.in("tail -n 3 /run/failover-ping.log"));
}

bool LoadRun::flows(seconds limit) {
  if (!within(limit, [&] { return look(); })) return false;
  const LoadView first = client_;
  return within(limit,
                [&] { return look() && client_.delivered >= first.delivered + 2 * client_.connections; });
}

}  // namespace rdmove::harness
