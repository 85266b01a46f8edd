// Echo over connections that outlive their device:  connection_echo server | connection_echo client ADDRESS [COUNT]
// Every second a line with what came back; one for each connection that went down and came up again.
#include <poll.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>

#include "rdmove/connection.hpp"
#include "rdmove/loop.hpp"

using namespace rdmove::failover;

struct Echo : ConnectionHandler {
  static constexpr std::size_t slots = 8, size = 64;
  explicit Echo(bool starts_first) : starts(starts_first) {}
  void own(std::unique_ptr<Connection> made) {
    connection = std::move(made);
    region = *connection->register_memory(buffers.data(), sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  }
  ibv_sge piece(std::size_t slot) { return {reinterpret_cast<std::uintptr_t>(&buffers[slot]), size, region->local_key()}; }
  void receive(std::size_t slot) {
    auto where = piece(slot);
    ibv_recv_wr request{slot, nullptr, &where, 1};
    connection->post_receive(request);
  }
  void send(std::size_t slot) {
    auto what = piece(slot);
    ibv_send_wr request{};
    request.wr_id = slot, request.sg_list = &what, request.num_sge = 1, request.opcode = IBV_WR_SEND;
    waiting = connection->post_send(request).has_value();
  }
  void opened(Connection&) override { for (std::size_t slot = 1; slot < slots; ++slot) receive(slot); }
  void up(Connection& up) override {
    waiting = false;  // what was on its way is lost or echoed: the client sends again
    if (up.epoch() > 1) std::printf("up again after %ld ms, epoch %u\n", long(up.last_blackout().count()), up.epoch());
  }
  void down(Connection& down, DownReason why) override { std::printf("%016lx down: %s\n", long(down.id()), to_text(why).data()); }
  void gone(Connection&, const Gone& why) override { std::printf("gone: %s: %s\n", to_text(why.reason).data(), why.message.c_str()); }
  void completed(Connection&, const ibv_wc& done) override {
    if (starts && (done.opcode & IBV_WC_RECV)) ++echoed, waiting = false, receive(done.wr_id);
    if (!starts && (done.opcode & IBV_WC_RECV)) send(done.wr_id);  // back from where it came in
    if (!starts && !(done.opcode & IBV_WC_RECV)) receive(done.wr_id);
  }
  const bool starts;
  bool waiting = false;
  unsigned long echoed = 0;
  std::array<std::array<char, size>, slots> buffers{};
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Region> region;
};

struct Server : ListenerHandler {
  std::list<Echo> echoes;
  void requested(ConnectionRequest& request) override {
    auto& echo = echoes.emplace_back(false);
    if (auto made = request.accept({}, echo)) echo.own(std::move(*made)); else echoes.pop_back();
  }
};

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s server | client ADDRESS [COUNT]\n", argv[0]), 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool serves = std::string(argv[1]) == "server";
  Server server;
  auto loop = *Loop::create();
  std::unique_ptr<Listener> listener;
  if (serves) listener = *Listener::listen(*loop, *SocketAddress::parse("0.0.0.0", 7474), server, AddressPolicy::MayCome);
  for (int left = serves ? 0 : argc > 3 ? std::atoi(argv[3]) : 1; left > 0; --left) {
    auto& echo = server.echoes.emplace_back(true);
    echo.own(*Connection::connect(*loop, *SocketAddress::parse(argv[2], 7474), {}, echo));
  }
  for (unsigned tick = 0;; ++tick) {
    pollfd ready{loop->fd(), POLLIN, 0};
    for (int passes = 0; passes < 50 && poll(&ready, 1, 20) > 0; ++passes) loop->dispatch();
    unsigned long echoed = 0, up = 0;
    for (auto& echo : server.echoes) {
      const bool is_up = echo.connection->state() == ConnectionState::Up;
      if (echo.starts && is_up && !echo.waiting) echo.send(0);
      echoed += echo.echoed, up += is_up;
    }
    if (tick % 64 == 0) std::printf("up %lu of %zu, echoed %lu\n", up, server.echoes.size(), echoed);
  }
}
