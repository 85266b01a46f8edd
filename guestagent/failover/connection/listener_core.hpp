// A listener for first connects. One bound to an IP address dies with its device: it is bound again when the
// address is back. Owned by its Listener; the loop's thread.
#pragma once

#include <memory>

#include "guestagent/failover/connection/hub.hpp"
#include "rdmove/connection.hpp"

namespace rdmove::failover {

Result<void> check_options(const ConnectionOptions& options);

class ListenerCore : public conn::EndpointOwner,
                     public conn::FirstCallTaker,
                     public std::enable_shared_from_this<ListenerCore> {
 public:
  ListenerCore(conn::Hub& hub, const SocketAddress& address, ListenerHandler& handler);
  ~ListenerCore() override;

  Result<void> listen();
  void keep_trying();
  void way_appeared() {
    if (is_trying_) keep_trying();
  }
  void close();
  void loop_ended();
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
  bool is_trying_ = false;  ///< its address or device is away
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
