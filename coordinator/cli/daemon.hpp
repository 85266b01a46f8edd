// The connection to this host's rdmoved: one unix socket, connected once and never again, so that a break is
// seen as a break. Owned by runCli(); one thread at a time.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "coordinator/cli/exit_code.hpp"
#include "coordinator/service/api/local.grpc.pb.h"

namespace rdmove::cli {

class Daemon {
 public:
  using Stub = v1::Local::StubInterface;

  static tl::expected<Daemon, Failure> connect(const std::string& socket);

  Stub& stub() { return *stub_; }

  /// One unary call, at most two minutes long (doctor asks the partner and the guest too).
  template <class Request, class Reply>
  tl::expected<Reply, Failure> call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                                 Reply*),
                                    const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    Reply reply;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &reply);
    if (!status.ok()) return tl::unexpected(failure(status));
    return reply;
  }

  /// The sentence for a call that ended with this status: the daemon's own words where it has refused.
  Failure failure(const grpc::Status& status) const;

 private:
  Daemon(std::string socket, std::unique_ptr<Stub> stub);

  std::string socket_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace rdmove::cli
