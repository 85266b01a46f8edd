// rdmove-ping: are RDMA connections between two machines alive, and how long are they dark when one moves?
#include <fmt/format.h>

#include <random>

#include "guestagent/ping/many_loops.hpp"
#include "guestagent/ping/server.hpp"

namespace {

using namespace rdmove::ping;

int failed(const rdmove::failover::Error& error) {
  fmt::print(stderr, "rdmove-ping: {}\n", error.message);
  return 1;
}

int run(const Options& options) {
  rdmove::failover::LoopOptions loop_options;
  loop_options.name = "rdmove-ping";
  if (!options.with_agent) loop_options.agent_socket.clear();
  auto loop = rdmove::failover::Loop::create(loop_options);
  if (!loop) return failed(loop.error());
  Runner runner(**loop, options);
  Server server(options);
  Client client(**loop, options);
  ManyLoops many(options);
  std::random_device random;
  const std::uint64_t seed = std::uint64_t{random()} << 32U | random();
  const auto started = options.is_server   ? server.start(**loop)
                       : options.loops > 1 ? many.start(loop_options, seed)
                                           : client.start(seed);
  if (!started) return failed(started.error());
  Role& role = options.is_server   ? static_cast<Role&>(server)
               : options.loops > 1 ? static_cast<Role&>(many)
                                   : client;
  if (!runner.run(role)) {
    fmt::print(stderr, "rdmove-ping: signals cannot be taken\n");
    return 1;
  }
  return role.totals().is_clean() && !role.has_failed() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (const int* code = std::get_if<int>(&options)) return *code;
  return run(std::get<Options>(options));
}
