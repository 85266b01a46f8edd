// Leases over packet sockets. One per agent; loop thread. A conversation ends by itself after some seconds,
// or when the device is captured again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <list>

#include "guestagent/agent/dhcp/leases.hpp"
#include "guestagent/agent/packet_socket.hpp"

namespace rdmove::agent::dhcp {

class Confirmations final : public Leases {
 public:
  /// `root` is where /var/lib is, `proc` where proc is mounted.
  Confirmations(boost::asio::io_context& io, Timers& timers, LeasedAddresses& addresses,
                std::filesystem::path root, std::filesystem::path proc);
  ~Confirmations() override;

  std::vector<Lease> find(const CapturedLink& link) override;
  void confirm(const RestoredLink& link, const Lease& lease,
               std::function<void(const std::string&)> warn) override;

 private:
  struct Conversation;
  void listen(const std::shared_ptr<Conversation>& conversation);
  void ended(Conversation& conversation, const Outcome& outcome);

  boost::asio::io_context& io_;
  Timers& timers_;
  LeasedAddresses& addresses_;
  std::filesystem::path root_;
  std::filesystem::path proc_;
  std::list<std::shared_ptr<Conversation>> running_;
};

}  // namespace rdmove::agent::dhcp
