// Takes the host's lines, calls what they ask for, and sends the answers. One per agent; loop thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <string>

#include "guestagent/agent/host_port.hpp"
#include "guestagent/agent/inventory.hpp"
#include "guestagent/agent/moves.hpp"
#include "guestagent/protocol/hello.hpp"

namespace rdmove::agent {

class HostService {
 public:
  HostService(boost::asio::io_context& io, int port_fd, Services& services, const RdmaSysfs& sysfs,
              protocol::HelloAnswer self);

  void start() { port_.start(); }
  void links_changed() { moves_.links_changed(); }
  void device_removed(const LinkInfo& link);
  void device_arrived(const LinkInfo& link);

 private:
  using Handler = std::function<void(const protocol::Request&)>;

  template <class Message>
  void on(std::function<void(const Message&, const protocol::RequestId&)> handle);
  void take(std::string_view line);
  void say_hello();

  /// Sends the result or error, unless the host has opened the port anew since.
  template <class Answer>
  std::function<void(const Result<Answer>&)> answer_to(const protocol::RequestId& id);

  protocol::HelloAnswer self_;
  HostPort port_;
  Inventory inventory_;
  Moves moves_;
  std::map<std::string, Handler, std::less<>> handlers_;
};

}  // namespace rdmove::agent
