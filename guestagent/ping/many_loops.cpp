#include "guestagent/ping/many_loops.hpp"

#include <algorithm>

namespace rdmove::ping {

ManyLoops::~ManyLoops() {
  for (const auto& one : loops_)
    if (one->client) one->loop->call([&] { one->client.reset(); });
}

failover::Result<void> ManyLoops::start(const failover::LoopOptions& loop_options, std::uint64_t seed) {
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < options_.loops; ++i) {
    auto& one = *loops_.emplace_back(std::make_unique<One>());
    one.options = options_;
    one.options.connections =
        options_.connections / options_.loops + (i < options_.connections % options_.loops ? 1 : 0);
    auto loop = failover::Loop::create(loop_options);
    if (!loop) return tl::unexpected(loop.error());
    one.loop = std::move(*loop);
    if (auto begun = one.loop->start_thread(); !begun) return begun;
    failover::Result<void> started;
    one.loop->call([&] {
      one.client = std::make_unique<Client>(*one.loop, one.options, first);
      started = one.client->start(seed);
    });
    if (!started) return started;
    first += one.options.connections;
  }
  return {};
}

Clock::time_point ManyLoops::tick(Clock::time_point now) {
  auto due = Clock::time_point::max();
  visit([&](Client& client) {
    if (!client.is_over()) due = std::min(due, client.tick(now));
  });
  return due;
}

void ManyLoops::interrupted() {
  visit([](Client& client) { client.interrupted(); });
}

bool ManyLoops::is_over() const {
  bool all = true;
  visit([&](const Client& client) { all = all && client.is_over(); });
  return all;
}

bool ManyLoops::has_failed() const {
  bool any = false;
  visit([&](const Client& client) { any = any || client.has_failed(); });
  return any;
}

// Copied on the loop that keeps the book.
std::vector<ConnectionReport> ManyLoops::report() const {
  std::vector<ConnectionReport> all;
  copies_.clear();
  visit([&](const Client& client) {
    for (auto& connection : client.report()) {
      connection.tally = &copies_.emplace_back(*connection.tally);
      all.push_back(std::move(connection));
    }
  });
  return all;
}

// Not from report(), whose last result stays.
Totals ManyLoops::totals() const {
  Totals totals;
  visit([&](const Client& client) {
    for (const auto& connection : client.report()) totals.add(connection);
    totals.last_return = std::max(totals.last_return, client.totals().last_return);
  });
  return totals;
}

}  // namespace rdmove::ping
