// A client over several loops in one process, each with a thread of its own: what a program with one loop for
// each of its threads would do. The program's main loop only asks them.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "guestagent/ping/client.hpp"

namespace rdmove::ping {

class ManyLoops final : public Role {
 public:
  explicit ManyLoops(const Options& options) : options_(options) {}
  ~ManyLoops() override;
  failover::Result<void> start(const failover::LoopOptions& loop_options, std::uint64_t seed);

  [[nodiscard]] const char* name() const override { return "client"; }
  Clock::time_point tick(Clock::time_point now) override;
  void interrupted() override;
  [[nodiscard]] bool is_over() const override;
  [[nodiscard]] bool has_failed() const override;
  [[nodiscard]] std::vector<ConnectionReport> report() const override;
  [[nodiscard]] Totals totals() const override;

 private:
  struct One {
    Options options;  // its share of the connections
    std::unique_ptr<failover::Loop> loop;
    std::unique_ptr<Client> client;  // made, used and destroyed on the loop
  };
  template <class Visit>
  void visit(Visit what) const {
    for (const auto& one : loops_)
      if (one->client) one->loop->call([&] { what(*one->client); });
  }

  const Options& options_;
  std::vector<std::unique_ptr<One>> loops_;
  mutable std::deque<Tally> copies_;  // that the last report points to
};

}  // namespace rdmove::ping
