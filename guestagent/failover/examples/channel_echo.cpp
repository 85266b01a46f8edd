// Messages that arrive once and in order, whatever moves in between.
//   channel_echo 10.0.0.1            answers
//   channel_echo 10.0.0.1 10.0.0.2   from .2: sends a number each 100 ms and checks the answers. Build: g++ -std=c++20 channel_echo.cpp $(pkg-config --cflags --libs rdmove)
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <rdmove/channel.hpp>
#include <rdmove/loop.hpp>
#include <thread>
#include <vector>

using namespace rdmove::failover;

namespace {
struct Echo final : ChannelHandler {
  void received(Channel& channel, std::span<const std::byte> message) override {
    if (!channel.send(message)) channel.close();  // one answer to each: there is always room
  }
  void gone(Channel&, const ChannelEnd& end) override {
    std::printf("client left: %s\n", end.why.message.c_str());
  }
};

struct Server final : ListenerHandler {
  void requested(ConnectionRequest& request) override {
    if (auto accepted = Channel::accept(request, {}, echo)) channels.push_back(std::move(*accepted));
  }
  Echo echo;
  std::vector<std::unique_ptr<Channel>> channels;
};

struct Client final : ChannelHandler {
  explicit Client(Loop& its) : loop(its) {}
  void down(Channel&, DownReason reason) override { std::printf("down: %s\n", to_text(reason).data()); }
  void up(Channel& channel) override {
    std::printf("up; blackout %ld ms\n", static_cast<long>(channel.connection().last_blackout().count()));
  }
  void received(Channel&, std::span<const std::byte> message) override {
    long number = 0;
    std::memcpy(&number, message.data(), sizeof(number));
    if (number != ++answered) std::printf("expected %ld, got %ld\n", answered, number);
  }
  void gone(Channel&, const ChannelEnd& end) override {
    std::printf("gone: %s; delivered up to %lu\n", end.why.message.c_str(), end.acknowledged.last);
    loop.stop();
  }
  Loop& loop;
  long answered = 0;
};
}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: channel_echo SERVER [OUR-ADDRESS]\n"), 2;
  auto loop = Loop::create();
  auto server_address = SocketAddress::parse(argv[1], 7473);
  if (!loop || !server_address)
    return std::fprintf(stderr, "%s\n", (loop ? server_address.error() : loop.error()).message.c_str()), 1;
  if (argc == 2) {
    Server server;
    auto listener = Listener::listen(**loop, *server_address, server);
    if (!listener) return std::fprintf(stderr, "%s\n", listener.error().message.c_str()), 1;
    (*loop)->run();
    return 0;
  }
  Client client(**loop);
  auto channel = Channel::connect(**loop, *server_address, {}, client, *SocketAddress::parse(argv[2], 0));
  if (!channel) return std::fprintf(stderr, "%s\n", channel.error().message.c_str()), 1;
  // The channel is the loop's: another thread hands it its work.
  long number = 1;
  const auto send_next = [&] {
    number += (*channel)->send(std::as_bytes(std::span(&number, 1))).has_value();
  };
  std::jthread sender([&](std::stop_token end) {
    for (; !end.stop_requested(); usleep(100'000)) (*loop)->post(send_next);
  });
  (*loop)->run();
  return 0;
}
