// One connection that carries frames of shadows, to a process or to another guest's agent. Ends itself when
// something comes that is no frame, or when the other end does not read. Owned by itself while I/O is
// pending; loop thread.
#pragma once

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <deque>
#include <functional>
#include <memory>

#include "shadowdev/link/frame.hpp"

namespace rdmove::agent {

class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  struct Listener {
    std::function<void(const shadow::Frame&)> frame;
    std::function<void()> closed;  // once
  };

  FrameStream(Socket socket, Listener listener);
  void start();
  void send(const shadow::Frame& frame);
  void close();

 private:
  void read();
  void write();

  Socket socket_;
  Listener listener_;
  shadow::FrameSplitter splitter_;
  std::array<std::byte, 8192> buffer_{};
  std::deque<std::vector<std::byte>> out_;
  bool closed_ = false;
};

}  // namespace rdmove::agent
