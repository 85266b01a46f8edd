#include "guestagent/agent/frame_stream.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace rdmove::agent {
namespace {

constexpr std::size_t max_waiting = 256;  // frames; one that reads nothing is closed at this

}  // namespace

FrameStream::FrameStream(Socket socket, Listener listener)
    : socket_(std::move(socket)), listener_(std::move(listener)) {}

void FrameStream::start() {
  read();
}

void FrameStream::close() {
  if (closed_) return;
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  const auto self = shared_from_this();
  const auto closed = std::exchange(listener_.closed, nullptr);
  listener_.frame = nullptr;
  if (closed) closed();
}

void FrameStream::read() {
  socket_.async_read_some(
      boost::asio::buffer(buffer_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
        if (self->closed_) return;
        if (error || !self->splitter_.push({self->buffer_.data(), size})) return self->close();
        while (const auto frame = self->splitter_.next()) {
          self->listener_.frame(*frame);
          if (self->closed_) return;
        }
        self->read();
      });
}

void FrameStream::send(const shadow::Frame& frame) {
  if (closed_) return;
  if (out_.size() >= max_waiting) return close();
  out_.push_back(encode(frame));
  if (out_.size() == 1) write();
}

void FrameStream::write() {
  boost::asio::async_write(socket_, boost::asio::buffer(out_.front()),
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                             if (self->closed_) return;
                             if (error) return self->close();
                             self->out_.pop_front();
                             if (!self->out_.empty()) self->write();
                           });
}

}  // namespace rdmove::agent
