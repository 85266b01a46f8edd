#include "guestagent/failover/connection/tests/connection_fixture.hpp"

namespace rdmove::failover::conn::fake {

void Owner::opened(Connection& opened_one) {
  check(!end && !is_up_, "opened while up or after gone");
  is_open_ = true;
  for (std::uint64_t slot = 100; slot < 108; ++slot) {
    ibv_recv_wr request{};
    request.wr_id = slot;
    check(opened_one.post_receive(request).has_value(), "opened, and no receive can be posted");
  }
}

void Owner::up(Connection& connection_up) {
  check(!end && !is_up_ && is_open_, "up without opened");
  check(connection_up.queue_pair() != nullptr, "up without a queue pair");
  is_up_ = true;
  ++ups;
}

void Owner::quiesce(Connection& asked_one, Time) {
  check(is_up_, "quiesce while not up");
  asked = true;
  if (answers_quiesce) asked_one.quiesced();
}

void Owner::down(Connection& connection_down, DownReason reason) {
  check(is_up_, "down while not up");
  check(connection_down.queue_pair() == nullptr, "down, and there is a queue pair");
  is_up_ = is_open_ = false;
  downs.push_back(reason);
}

void Owner::gone(Connection&, const Gone& gone) {
  check(!end, "gone twice");
  end = gone;
  is_up_ = is_open_ = false;
}

void Owner::completed(Connection& completed_one, const ibv_wc& done) {
  check(is_up_ && done.status == IBV_WC_SUCCESS && done.wr_id < 1000, "a completion that is not the owner's");
  if ((done.opcode & IBV_WC_RECV) == 0) {
    ++sent;
    return;
  }
  ++received;
  ibv_recv_wr request{};
  request.wr_id = done.wr_id;
  (void)completed_one.post_receive(request);
}

bool Owner::send() {
  ibv_send_wr request{};
  request.wr_id = 1;
  request.opcode = IBV_WR_SEND;
  return connection->post_send(request).has_value();
}

Machine::Machine(Fabric& the_fabric, const std::string& address, std::uint64_t seed, ManualClock& the_clock)
    : fabric(the_fabric),
      clock(the_clock),
      random(seed),
      port(fabric, address),
      hub({port, reaper, (static_cast<void>(poller.open()), poller), timers, clock, random}, 64) {
  port.add_device();
}

Machine::~Machine() {
  owners.clear();
  if (listener) listener->close();
  hub.end();
  reaper.run_all();
}

void Machine::listen(std::uint16_t number) {
  listener = std::make_shared<ListenerCore>(hub, *SocketAddress::parse("0.0.0.0", number), *this);
  ASSERT_TRUE(listener->listen());
}

Owner& Machine::connect(const std::string& address, std::uint16_t number, const ConnectionOptions& options) {
  auto& owner = *owners.emplace_back(std::make_unique<Owner>());
  owner.connection = connect_on(hub, *SocketAddress::parse(address, number), options, owner, std::nullopt);
  return owner;
}

void Machine::requested(ConnectionRequest& request) {
  if (!accepts) return request.reject();
  auto owner = std::make_unique<Owner>();
  auto made = request.accept({}, *owner);
  ASSERT_TRUE(made);
  owner->connection = std::move(*made);
  owners.push_back(std::move(owner));
}

void Machine::dispatch() {
  poller.dispatch(0);
  timers.run_due(clock.now());
}

std::size_t Machine::live_endpoints() const {
  std::size_t count = 0;
  for (const auto& [number, endpoint] : fabric.endpoints) count += &endpoint->port == &port ? 1U : 0U;
  return count;
}

void TwoWorld::run(Milliseconds time, Milliseconds step) {
  for (Milliseconds passed{0}; passed <= time; passed += step) {
    for (int pass = 0; pass < 6; ++pass) {
      for (auto* machine : {a.get(), b.get()}) {
        if (!machine) continue;
        machine->dispatch();
        machine->reaper.run_all();
      }
    }
    clock.advance(step);
  }
}

void TwoWorld::expect_order() {
  EXPECT_TRUE(fabric.faults.empty()) << fabric.faults.front();
  for (auto* machine : {a.get(), b.get()}) {
    if (!machine) continue;
    for (const auto& owner : machine->owners) EXPECT_TRUE(owner->faults.empty()) << owner->faults.front();
  }
}

}  // namespace rdmove::failover::conn::fake
