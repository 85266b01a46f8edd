// The virtio-serial port to the host. Its driver reports HUP for as long as no host has it open, and wakes us
// when that changes, so it is watched edge-triggered by an epoll of its own (a level would spin), and that
// epoll by the loop. What cannot be written because nobody reads is dropped: the host asks again after it has
// opened the port. One per agent; loop thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "guestagent/protocol/envelope.hpp"
#include "guestagent/protocol/line_splitter.hpp"

namespace rdmove::agent {

class HostPort {
 public:
  struct Listener {
    std::function<void(std::string_view line)> line;
    std::function<void()> opened;  // the host is there, anew
  };

  /// Takes `fd` over, which must be non-blocking. start() delivers the first `opened`.
  HostPort(boost::asio::io_context& io, int fd, Listener listener);
  ~HostPort();

  void start();
  void send(const protocol::Envelope& envelope);

  /// Counts the host's sessions, so that an answer to an earlier one can be told and dropped.
  [[nodiscard]] std::uint64_t session() const { return session_; }
  void new_session() { ++session_; }

 private:
  void wait();
  void look();
  void host_left();
  void read();
  void flush();

  int fd_;
  Listener listener_;
  boost::asio::posix::stream_descriptor edges_;
  protocol::LineSplitter splitter_;
  std::string out_;
  bool host_there_ = false;
  std::uint64_t session_ = 0;
};

/// Opens the port for itself alone; without udev's name for it, finds it by sysfs. Throws std::runtime_error
/// with what to do about it.
int open_host_port(const std::string& path, const std::string& sys);

}  // namespace rdmove::agent
