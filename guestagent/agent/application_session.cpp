#include "guestagent/agent/application_session.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace rdmove::agent {
namespace {

using protocol::ErrorCode;
namespace words = protocol::application;

constexpr std::size_t max_line = 4096;             // what applications have to say is short
constexpr std::size_t max_out_bytes = 256 * 1024;  // one that reads nothing is closed at this

}  // namespace

ApplicationSession::ApplicationSession(Socket socket, std::int32_t pid, std::uint32_t uid, Timers& timers,
                                       Listener listener)
    : socket_(std::move(socket)),
      pid_(pid),
      uid_(uid),
      timers_(timers),
      listener_(std::move(listener)),
      splitter_(max_line) {}

protocol::ApplicationInfo ApplicationSession::info() const {
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(timers_.now() - registered_at_);
  return {pid_, name_, uid_, static_cast<std::uint64_t>(since.count()), hold_, report_};
}

void ApplicationSession::start() {
  read();
}

void ApplicationSession::close(const std::string& why) {
  if (closed_) return;
  closed_ = true;
  spdlog::info("application pid={} name={} left: {}", pid_, name_, why);
  boost::system::error_code ignored;
  socket_.close(ignored);
  splitter_.reset();
  const auto self = shared_from_this();
  listener_.closed(*this);
}

void ApplicationSession::read() {
  socket_.async_read_some(
      boost::asio::buffer(buffer_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
        if (error) return self->close(error.message());
        self->splitter_.push({self->buffer_.data(), size}, [&](auto line) { self->take(line); });
        if (self->splitter_.dropped_lines() > 0) self->close("too long a line");
        if (!self->closed_) self->read();
      });
}

void ApplicationSession::take(std::string_view line) {
  if (!budget_.take(timers_.now())) return close("it floods");
  const auto envelope = protocol::decode(line);
  if (!envelope) {
    send(envelope.error().answer);
    return close(envelope.error().answer.error.message);
  }
  if (const auto* request = std::get_if<protocol::Request>(&*envelope)) return take_registration(*request);
  if (const auto* response = std::get_if<protocol::Response>(&*envelope)) return take_answer(*response);
  if (const auto* refusal = std::get_if<protocol::ErrorResponse>(&*envelope)) return take_refusal(*refusal);
  take_report(std::get<protocol::Notification>(*envelope));
}

void ApplicationSession::take_refusal(const protocol::ErrorResponse& refusal) {
  spdlog::warn("application pid={} name={} refuses: {}", pid_, name_, refusal.error.message);
  // It may come late, to a quiesce that was called off: then it says nothing of this one.
  const bool of_this = hold_ == Hold::Asked && refusal.id == protocol::RequestId{quiesce_id_};
  if (of_this) hold_ = Hold::Holding;  // and becomes a holdout
}

void ApplicationSession::take_report(const protocol::Notification& notification) {
  if (notification.method != words::Report::method) return close("a notification that is no report");
  if (!registered_) return close("a report of one that is not registered");
  const auto message = words::Report::from_payload(notification.params);
  if (!message) return close(message.error().message);
  report_ = *message;
}

void ApplicationSession::take_registration(const protocol::Request& request) {
  const auto refuse = [&](protocol::Error error) {
    send(protocol::ErrorResponse{request.id, error});
    close(error.message);
  };
  if (request.method != words::Register::method)
    return refuse({ErrorCode::MethodNotFound, "only register is known here"});
  if (registered_) return refuse({ErrorCode::InvalidRequest, "registered already"});
  const auto message = words::Register::from_payload(request.params);
  if (!message) return refuse(message.error());
  name_ = message->name;
  registered_ = true;
  registered_at_ = timers_.now();
  send(protocol::Response{request.id, words::Accepted{}.to_payload()});
  spdlog::info("application pid={} name={} registered", pid_, name_);
  if (!closed_) listener_.registered(*this);
}

void ApplicationSession::take_answer(const protocol::Response& response) {
  const bool expected = hold_ == Hold::Asked && response.id == protocol::RequestId{quiesce_id_};
  if (!expected) {
    // An answer to a quiesce that was called off meanwhile is late, not wrong.
    if (const auto* id = std::get_if<std::int64_t>(&response.id);
        id != nullptr && *id <= quiesce_id_ && *id > 0)
      return;
    return close("an answer to nothing");
  }
  const auto message = words::Released::from_payload(response.result);
  if (!message) return close(message.error().message);
  if (!message->released) {
    hold_ = Hold::Holding;
    return;
  }
  hold_ = Hold::Released;
  listener_.released(*this);
}

void ApplicationSession::quiesce(std::int64_t id, const words::Quiesce& message) {
  hold_ = Hold::Asked;
  quiesce_id_ = id;
  send(protocol::request(id, message));
}

void ApplicationSession::tell(const protocol::Notification& notification) {
  send(notification);
}

void ApplicationSession::send(const protocol::Envelope& envelope) {
  auto line = protocol::encode(envelope);
  if (closed_ || !line) return;
  if (out_bytes_ + line->size() > max_out_bytes) return close("it reads nothing");
  out_bytes_ += line->size();
  out_.push_back(std::move(*line));
  if (!writing_) write();
}

void ApplicationSession::write() {
  writing_ = true;
  boost::asio::async_write(socket_, boost::asio::buffer(out_.front()),
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                             self->writing_ = false;
                             if (error) return self->close(error.message());
                             self->out_bytes_ -= self->out_.front().size();
                             self->out_.pop_front();
                             if (!self->out_.empty() && !self->closed_) self->write();
                           });
}

}  // namespace rdmove::agent
