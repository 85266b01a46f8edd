// Machines of a fake world with a hub each, and owners that check that they are told things in a legal order.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "guestagent/failover/connection/connection_core.hpp"
#include "guestagent/failover/connection/listener_core.hpp"
#include "guestagent/failover/connection/quiesce_round.hpp"
#include "guestagent/failover/connection/tests/fake_world.hpp"

namespace rdmove::failover::conn::fake {

/// An owner: posts receives, keeps what it was told, and notes what was out of order.
class Owner : public ConnectionHandler {
 public:
  void opened(Connection& opened_one) override;
  void up(Connection&) override;
  void quiesce(Connection& connection, Time deadline) override;
  void down(Connection&, DownReason reason) override;
  void gone(Connection&, const Gone& gone) override;
  void completed(Connection&, const ibv_wc& done) override;
  void batch_done(Connection&) override { check(is_up_, "batch_done while not up"); }

  bool send();

  std::unique_ptr<Connection> connection;
  std::vector<std::string> faults;
  std::vector<DownReason> downs;
  std::optional<Gone> end;
  int ups = 0;
  int received = 0;
  int sent = 0;
  bool answers_quiesce = true;
  bool asked = false;

 private:
  void check(bool holds, const char* rule) {
    if (!holds) faults.emplace_back(rule);
  }
  bool is_open_ = false;
  bool is_up_ = false;
};

class Machine : public ListenerHandler {
 public:
  Machine(Fabric& fabric, const std::string& address, std::uint64_t seed, ManualClock& clock);
  ~Machine() override;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void listen(std::uint16_t port);
  Owner& connect(const std::string& address, std::uint16_t port, const ConnectionOptions& options = {});
  void requested(ConnectionRequest& request) override;

  void dispatch();  ///< one pass: files and timers; nothing of the reaper's
  [[nodiscard]] std::size_t live_endpoints() const;

  Fabric& fabric;
  ManualClock& clock;
  SequenceRandom random;
  Poller poller;
  TimerQueue timers;
  FakePort port;
  ManualReaper reaper;
  Hub hub;
  std::shared_ptr<ListenerCore> listener;
  std::vector<std::unique_ptr<Owner>> owners;
  bool accepts = true;
};

struct TwoWorld {
  void run(Milliseconds time, Milliseconds step = Milliseconds(10));
  /// No fault of anybody, and all that was taken down is gone.
  void expect_order();

  Fabric fabric;
  ManualClock clock;
  std::unique_ptr<Machine> a = std::make_unique<Machine>(fabric, "10.0.0.1", 1, clock);
  std::unique_ptr<Machine> b = std::make_unique<Machine>(fabric, "10.0.0.2", 2, clock);
};

class World : public testing::Test, public TwoWorld {};

}  // namespace rdmove::failover::conn::fake
