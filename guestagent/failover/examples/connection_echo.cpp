// Echo over connections that outlive their device: connection_echo server | connection_echo client ADDRESS
// [COUNT]
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>

#include "rdmove/connection.hpp"
#include "rdmove/loop.hpp"

using namespace rdmove::failover;

struct Echo : ConnectionHandler, ListenerHandler {
  void own(std::unique_ptr<Connection> made) {
    connection = std::move(made);
    region = *connection->register_memory(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  }
  ibv_sge memory() const { return {reinterpret_cast<std::uintptr_t>(buffer), 64, region->local_key()}; }
  void receive() {
    auto where = memory();
    ibv_recv_wr request{0, nullptr, &where, 1};
    connection->post_receive(request);
  }
  void send() {
    auto what = memory();
    ibv_send_wr request{};
    request.sg_list = &what;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    waiting = connection->post_send(request).has_value();
  }
  void opened(Connection&) override { receive(); }
  void up(Connection& it) override {
    waiting = false;  // what was on its way may be lost: the client sends again
    std::printf("up, epoch %u, after %ld ms\n", it.epoch(), static_cast<long>(it.last_blackout().count()));
  }
  void down(Connection&, DownReason why) override { std::printf("down: %s\n", to_text(why).data()); }
  void gone(Connection&, const Gone& why) override { std::printf("gone: %s\n", why.message.c_str()); }
  void completed(Connection&, const ibv_wc& done) override {
    if ((done.opcode & IBV_WC_RECV) == 0) return;
    receive();
    waiting = false;
    if (serves) send();
  }
  bool serves = false;
  bool waiting = false;
  char buffer[64] = {};
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Region> region;

  void requested(ConnectionRequest& request) override {
    auto& echo = others.emplace_back();
    echo.serves = true;
    if (auto made = request.accept({}, echo)) echo.own(std::move(*made));
  }
  std::list<Echo> others;
};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto loop = *Loop::create();
  Echo all;
  std::unique_ptr<Listener> listener;
  if (argc == 2)
    listener = *Listener::listen(*loop, *SocketAddress::parse("0.0.0.0", 7474), all, AddressPolicy::MayCome);
  for (int left = argc > 3 ? std::atoi(argv[3]) : argc - 2; left > 0; --left) {
    auto& echo = all.others.emplace_back();
    echo.own(*Connection::connect(*loop, *SocketAddress::parse(argv[2], 7474), {}, echo));
  }
  for (;;) {
    pollfd ready{loop->fd(), POLLIN, 0};
    for (int passes = 0; passes < 50 && poll(&ready, 1, 20) > 0; ++passes) loop->dispatch();
    for (auto& echo : all.others)
      if (!echo.serves && !echo.waiting && echo.connection->state() == ConnectionState::Up) echo.send();
  }
}
