#include "guestagent/agent/host_service.hpp"

#include <spdlog/spdlog.h>

#include "guestagent/protocol/events.hpp"

namespace rdmove::agent {

using protocol::RequestId;

template <class Answer>
std::function<void(const Result<Answer>&)> HostService::answer_to(const RequestId& id) {
  return [this, id, session = port_.session()](const Result<Answer>& answer) {
    if (session != port_.session()) return;
    if (answer) return port_.send(protocol::Response{id, answer->to_payload()});
    port_.send(protocol::ErrorResponse{id, answer.error()});
  };
}

template <class Message>
void HostService::on(std::function<void(const Message&, const RequestId&)> handle) {
  handlers_[std::string(Message::method)] = [this, handle](const protocol::Request& request) {
    const auto message = Message::from_payload(request.params);
    if (message) return handle(*message, request.id);
    port_.send(protocol::ErrorResponse{request.id, message.error()});
  };
}

HostService::HostService(boost::asio::io_context& io, int port_fd, Services& services, const RdmaSysfs& sysfs,
                         protocol::HelloAnswer self)
    : self_(std::move(self)),
      port_(io, port_fd, {[this](std::string_view line) { take(line); }, [this] { say_hello(); }}),
      inventory_(services, sysfs),
      moves_(services, [this](const protocol::Ready& ready) { port_.send(protocol::notification(ready)); }) {
  on<protocol::HelloRequest>([this](const auto& hello, const RequestId& id) {
    port_.new_session();
    answer_to<protocol::HelloAnswer>(id)(self_);
    spdlog::debug("host={} software={} says hello", hello.host, hello.software);
  });
  on<protocol::StatusRequest>([this](const auto&, const RequestId& id) {
    answer_to<protocol::StatusResult>(id)(inventory_.status(moves_.prepared()));
  });
  on<protocol::HoldoutsRequest>([this](const auto&, const RequestId& id) {
    answer_to<protocol::HoldoutsResult>(id)(inventory_.holdouts());
  });
  on<protocol::CountersRequest>([this](const auto&, const RequestId& id) {
    answer_to<protocol::CountersResult>(id)(inventory_.counters());
  });
  on<protocol::AppsRequest>([this](const auto&, const RequestId& id) {
    answer_to<protocol::AppsResult>(id)(inventory_.applications());
  });
  on<protocol::PeersRequest>(
      [this](const auto&, const RequestId& id) { answer_to<protocol::PeersResult>(id)(inventory_.peers()); });
  on<protocol::PrepareRequest>([this](const auto& request, const RequestId& id) {
    moves_.prepare(request, answer_to<protocol::PrepareResult>(id));
  });
  on<protocol::RestoreRequest>([this](const auto& request, const RequestId& id) {
    moves_.restore(request, answer_to<protocol::RestoreResult>(id));
  });
}

void HostService::say_hello() {
  port_.send(protocol::notification(self_));
}

void HostService::device_removed(const LinkInfo& link) {
  spdlog::info("netdev={} identity={} left", link.name, to_text(link.identity));
  port_.send(protocol::notification(protocol::DeviceRemoved{link.identity, link.name}));
}

void HostService::device_arrived(const LinkInfo& link) {
  spdlog::info("netdev={} identity={} arrived", link.name, to_text(link.identity));
  port_.send(protocol::notification(protocol::DeviceArrived{link.identity, link.name}));
}

void HostService::take(std::string_view line) {
  const auto envelope = protocol::decode(line);
  if (!envelope) {
    spdlog::warn("from the host: {}", envelope.error().answer.error.message);
    if (!envelope.error().was_answer) port_.send(envelope.error().answer);
    return;
  }
  const auto* request = std::get_if<protocol::Request>(&*envelope);
  if (request == nullptr) return;  // the host has nothing else to say that matters here
  const auto handler = handlers_.find(request->method);
  if (handler != handlers_.end()) return handler->second(*request);
  port_.send(protocol::ErrorResponse{
      request->id,
      {protocol::ErrorCode::MethodNotFound, "this agent does not know the method " + request->method}});
}

}  // namespace rdmove::agent
