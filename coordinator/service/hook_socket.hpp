// Where libvirt's hook asks about a domain that comes in (coordinator/hook, docs/hook.md): one question a
// connection, one line each way. For root alone. Everything on the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

class HookSocket {
 public:
  /// May this domain come in? The error's sentence is what the operator reads.
  using Judge = std::function<Result<void>(const DomainUuid&, const std::string& name)>;

  HookSocket(boost::asio::io_context& loop, Judge judge) : acceptor_(loop), judge_(std::move(judge)) {}
  Result<void> open(const std::string& path);
  /// Stops accepting and removes the socket.
  void close();

 private:
  void accept();

  boost::asio::local::stream_protocol::acceptor acceptor_;
  Judge judge_;
  std::string path_;
};

}  // namespace rdmove
