// The unix socket of the local API: mode 0660, owned by the configured group; each caller's pid, uid and gid
// are logged before gRPC gets the connection. Accepts on the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <string>

#include "coordinator/base/result.hpp"

namespace grpc {
class Server;
}

namespace rdmove {

class LocalSocket {
 public:
  LocalSocket(boost::asio::io_context& loop, grpc::Server& server) : acceptor_(loop), server_(server) {}
  /// Replaces a socket that a dead daemon left; a live one is refused.
  Result<void> open(const std::string& path, const std::string& group);
  /// Stops accepting and removes the socket.
  void close();

 private:
  void accept();

  boost::asio::local::stream_protocol::acceptor acceptor_;
  grpc::Server& server_;
  std::string path_;
};

}  // namespace rdmove
