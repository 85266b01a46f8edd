// rdma-stream: messages as fast as they go, one way, over librdmove's Channel and over verbs by hand, between two guests.
// A line of JSON for each round: {"way": "raw" | "channel", "size": bytes, "ns": of one message}.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <rdmove/channel.hpp>
#include <rdmove/loop.hpp>
#include <thread>

#include "raw_end.hpp"

namespace {

using namespace rdmove::failover;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string address;
  std::uint16_t port = 7480;  // raw; the channel's is the next
  std::size_t size = 64;
  std::uint64_t count = 2048;
  unsigned rounds = 5;
};

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

ChannelOptions options_of(const Options& options) {
  ChannelOptions out;
  out.message_limit = static_cast<std::uint32_t>(std::max<std::size_t>(options.size, 64));
  out.send_slots = out.receive_slots = stream::kSlots;
  return out;
}

struct Taker final : ChannelHandler, ListenerHandler {
  explicit Taker(const Options& its) : options(its) {}
  void requested(ConnectionRequest& request) override {
    if (auto accepted = Channel::accept(request, options_of(options), *this)) channels.push_back(std::move(*accepted));
  }
  void received(Channel&, std::span<const std::byte>) override {}
  void gone(Channel&, const ChannelEnd&) override {}
  const Options& options;
  std::vector<std::unique_ptr<Channel>> channels;
};

struct Sender final : ChannelHandler {
  void up(Channel&) override { is_up.set_value(); }
  void received(Channel&, std::span<const std::byte>) override {}
  void gone(Channel&, const ChannelEnd& end) override {
    if (end.why.reason == GoneReason::Closed) return;
    std::fprintf(stderr, "rdma-stream: the channel has ended: %s\n", end.why.message.c_str());
    std::_Exit(1);
  }
  void writable(Channel& channel) override { fill(channel); }
  void acknowledged(Channel&, std::uint64_t number) override {
    if (number == until) over.set_value();
  }
  void fill(Channel& channel) {
    while (channel.sent() < until && channel.send(message)) {
    }
  }
  std::vector<std::byte> message;
  std::uint64_t until = 0;
  std::promise<void> is_up;
  std::promise<void> over;
};

template <class Work>
void measure(const char* way, const Options& options, Work work) {
  const auto began = Clock::now();
  work();
  const std::chrono::duration<double, std::nano> took = Clock::now() - began;
  std::printf("{\"way\":\"%s\",\"size\":%zu,\"ns\":%.0f}\n", way, options.size,
              took.count() / static_cast<double>(options.count));
  std::fflush(stdout);
}

int client(const Options& options) {
  auto loop = must(Loop::create());
  must(loop->start_thread());
  Sender sender;
  sender.message.resize(options.size);
  std::unique_ptr<Channel> channel;
  loop->call([&] {
    channel = must(Channel::connect(*loop, *SocketAddress::parse(options.address, options.port + 1),
                                    options_of(options), sender));
  });
  sender.is_up.get_future().get();
  auto raw = stream::RawEnd::connect(options.address, options.port, options.size);
  const auto by_hand = [&] { measure("raw", options, [&] { raw->send(options.count); }); };
  const auto by_channel = [&] {
    measure("channel", options, [&] {
      sender.over = {};
      auto over = sender.over.get_future();
      loop->call([&] {
        sender.until = channel->sent() + options.count;
        sender.fill(*channel);
      });
      over.get();
    });
  };
  for (unsigned round = 0; round < options.rounds; ++round) {  // another one first in each round
    round % 2 == 0 ? by_hand() : by_channel();
    round % 2 == 0 ? by_channel() : by_hand();
  }
  loop->call([&] { channel.reset(); });
  return 0;
}

int server(const Options& options) {
  auto loop = must(Loop::create());
  Taker taker(options);
  auto listener = must(Listener::listen(*loop, *SocketAddress::parse(options.address, options.port + 1), taker));
  must(loop->start_thread());
  rdma_cm_id* raw = stream::RawEnd::listen(options.address, options.port);
  std::printf("ready\n");
  std::fflush(stdout);
  for (;;) stream::RawEnd::accept(raw, options.size)->serve();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Messages over librdmove's Channel and over verbs by hand, side by side");
  Options options;
  app.require_subcommand(1);
  auto* serve = app.add_subcommand("server", "Takes them");
  auto* send = app.add_subcommand("client", "Sends them, and prints what each took");
  for (auto* side : {serve, send}) {
    side->add_option("address", options.address, "The server's IPv4 address")->required();
    side->add_option("--port", options.port, "For verbs by hand; the channel's is the next")->capture_default_str();
    side->add_option("--size", options.size, "Bytes of a message, on both sides the same")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
  }
  send->add_option("--count", options.count, "Messages of a round, a multiple of 32")->capture_default_str();
  send->add_option("--rounds", options.rounds, "Rounds")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.count == 0 || options.count % stream::kBatch != 0)
      throw std::runtime_error("--count has to be a multiple of 32");
    return serve->parsed() ? server(options) : client(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rdma-stream: %s\n", error.what());
    return 1;
  }
}
