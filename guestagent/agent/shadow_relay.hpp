// Carries what shadows ask each other (docs/shadow-link.md): from a process in this guest to the processes
// that have the other GID, here or in another guest, whose agent is at that GID's own IP address. Understands
// no more of a question than who asks whom. One per agent; loop thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "guestagent/agent/frame_stream.hpp"

namespace rdmove::agent {

class ShadowRelay {
 public:
  static constexpr std::uint16_t default_port = 7471;
  static constexpr std::size_t max_processes = 256;
  static constexpr std::size_t max_processes_per_user = 64;   // root excepted
  static constexpr std::size_t max_guests = 256;              // connections from other guests
  static constexpr std::size_t max_gids = 1024;               // of a process
  static constexpr std::chrono::milliseconds patience{1000};  // with whoever is asked

  /// The port is opened when the first process has a device. Throws std::system_error.
  ShadowRelay(boost::asio::io_context& io, const std::filesystem::path& path, std::uint16_t port);
  ~ShadowRelay();

  /// Questions that somebody had no right to ask, or about whom nothing proves who asks.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  using Bytes = std::vector<std::byte>;
  using Gid = std::array<std::uint8_t, 16>;
  using Reply = std::function<void(std::optional<Bytes>)>;
  using Stream = std::shared_ptr<FrameStream>;
  struct Process {
    std::uint32_t uid = 0;
    Stream stream;
    std::set<Gid> gids;
  };
  struct Guest {
    Stream stream;
    std::vector<shadow::Frame> waiting;  // until it is connected
    boost::asio::ip::tcp::socket socket;
    boost::asio::steady_timer deadline;
    explicit Guest(boost::asio::io_context& io) : socket(io), deadline(io) {}
  };
  struct Asked {
    const FrameStream* at;  // null: not sent yet
    Reply reply;
    std::unique_ptr<boost::asio::steady_timer> deadline;
  };

  void accept_process();
  void admit(boost::asio::local::stream_protocol::socket socket);
  void listen();
  void accept_guest();
  void take_of_process(Process& process, const shadow::Frame& frame);
  void take_of_guest(const Gid& address, const Stream& stream, const shadow::Frame& frame);
  void take_answer(const FrameStream* of, const shadow::Frame& frame);

  void ask_here(const shadow::Frame& question, Reply reply);
  void ask_guest(const shadow::Frame& question, Reply reply);
  std::shared_ptr<Guest> guest_towards(const Gid& from, const Gid& to);
  void connected(const std::pair<Gid, Gid>& ends, const std::shared_ptr<Guest>& guest);
  void drop_guest(const std::pair<Gid, Gid>& ends);
  /// Remembers who waits, and returns the question with a number of ours.
  shadow::Frame expect(const FrameStream* at, shadow::Frame question, Reply reply);
  void settle(std::uint32_t id, std::optional<Bytes> answer);
  void end_all_at(const FrameStream* stream);

  boost::asio::io_context& io_;
  std::filesystem::path path_;
  std::uint16_t port_;
  boost::asio::local::stream_protocol::acceptor processes_acceptor_;
  boost::asio::ip::tcp::acceptor guests_acceptor_;
  std::set<std::shared_ptr<Process>> processes_;
  std::set<Stream> from_guests_;
  std::map<std::pair<Gid, Gid>, std::shared_ptr<Guest>> guests_;
  std::map<std::uint32_t, Asked> asked_;
  std::uint32_t last_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace rdmove::agent
