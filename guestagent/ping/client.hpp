// Sends on its connections at their rate and takes the answers, until the count or the time is reached, it is
// interrupted or every connection has ended.
#pragma once

#include <memory>
#include <vector>

#include "guestagent/ping/runner.hpp"
#include "guestagent/ping/stream_end.hpp"

namespace rdmove::ping {

class Client final : public Role {
 public:
  /// `first`: so many connections have others, whose numbers come first.
  Client(failover::Loop& loop, const Options& options, std::uint32_t first = 0)
      : loop_(loop), options_(options), first_(first) {}
  failover::Result<void> start(std::uint64_t seed);

  [[nodiscard]] const char* name() const override { return "client"; }
  Clock::time_point tick(Clock::time_point now) override;
  void interrupted() override { stop_sending(Clock::now()); }
  [[nodiscard]] bool is_over() const override { return is_over_; }
  [[nodiscard]] std::vector<ConnectionReport> report() const override;
  [[nodiscard]] Totals totals() const override;
  [[nodiscard]] bool has_failed() const override { return has_failed_; }

 private:
  struct Sender {
    std::unique_ptr<ClientEnd> end;
    Clock::time_point due{};
  };
  void send_due(Sender& sender, Clock::time_point now);
  [[nodiscard]] bool is_done(const Sender& sender) const {
    return options_.count && sender.end->sent() >= *options_.count;
  }
  void look_for_return(Clock::time_point now);
  Clock::time_point send_all_due(Clock::time_point now);
  void stop_sending(Clock::time_point now);
  void finish(Clock::time_point now);

  failover::Loop& loop_;
  const Options& options_;
  const std::uint32_t first_;
  std::vector<Sender> senders_;
  Clock::time_point next_due_{};  // of all senders
  std::size_t light_ = 0;         // so many from the first on have had an answer since the device's return
  Clock::time_point returned_{};  // the last return of the device that is accounted for
  std::chrono::microseconds return_{0};
  std::optional<Clock::time_point> end_at_;
  std::optional<Clock::time_point> answers_until_;   // nothing is sent any more
  std::optional<Clock::time_point> goodbyes_until_;  // all is answered, or is not waited for any more
  bool has_failed_ = false;
  bool is_over_ = false;
};

}  // namespace rdmove::ping
