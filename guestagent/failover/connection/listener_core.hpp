// A listener for first connects. One bound to an IP address dies with its device: it is bound again when the address is
// back. Owned by its Listener; the loop's thread.
#pragma once

#include <memory>

#include "guestagent/failover/connection/hub.hpp"
#include "rdmove/connection.hpp"

namespace rdmove::failover {

Result<void> check_options(const ConnectionOptions& options);

class Listener::Core : public conn::EndpointOwner,
                       public conn::FirstCallTaker,
                       public std::enable_shared_from_this<Listener::Core> {
 public:
  Core(conn::Hub& hub, const SocketAddress& address, ListenerHandler& handler);
  ~Core() override;

  Result<void> listen();
  void keep_trying();
  void close();
  [[nodiscard]] SocketAddress address() const { return address_; }
  [[nodiscard]] bool is_listening() const { return endpoint_ != nullptr; }

 private:
  void cm_event(conn::CmEvent& event) override;
  void first_call(conn::CmEvent& event, const conn::Hello& hello) override;

  conn::Hub* hub_;
  SocketAddress address_;
  ListenerHandler& handler_;
  std::unique_ptr<conn::Endpoint> endpoint_;
  conn::Timer retry_;
};

class ConnectionRequest::Answer {
 public:
  conn::Hub& hub;
  const SocketAddress peer;
  const SocketAddress local;
  const conn::Hello& hello;
  std::shared_ptr<ConnectionCore> accepted;
  bool rejected = false;
};

}  // namespace rdmove::failover
