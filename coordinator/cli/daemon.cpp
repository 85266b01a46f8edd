#include "coordinator/cli/daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/create_channel_posix.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace rdmove::cli {
namespace {

Failure unreachable(const std::string& socket, int error) {
  const std::string_view remedy =
      error == EACCES ? "Become a member of group rdmove (or root), or name another socket with --socket."
                      : "Start it with 'systemctl start rdmoved', or name its socket with --socket.";
  return {ExitCode::kLostContact, fmt::format("cannot reach rdmoved at {}: {}. {}", socket,
                                              std::generic_category().message(error), remedy)};
}

}  // namespace

Daemon::Daemon(std::string socket, std::unique_ptr<Stub> stub)
    : socket_(std::move(socket)), stub_(std::move(stub)) {}

tl::expected<Daemon, Failure> Daemon::connect(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) return tl::unexpected(unreachable(socket, ENAMETOOLONG));
  std::memcpy(address.sun_path, socket.data(), socket.size());

  // Connected here and not by gRPC: it tells the reason in words that an operator knows, at once.
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return tl::unexpected(unreachable(socket, errno));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    ::close(fd);
    return tl::unexpected(unreachable(socket, error));
  }
  const auto channel = grpc::CreateInsecureChannelFromFd("rdmoved", fd);
  return Daemon(socket, v1::Local::NewStub(channel));
}

Failure Daemon::failure(const grpc::Status& status) const {
  const ExitCode code = exitCodeForStatus(status.error_code());
  switch (status.error_code()) {
    case grpc::StatusCode::UNIMPLEMENTED:
      return {code, fmt::format(
                        "rdmoved at {} does not know this call; it is older than this rdmove {}. Update it.",
                        socket_, RDMOVE_VERSION)};
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      return {code, fmt::format("lost contact with rdmoved at {}: {}. See 'systemctl status rdmoved'.",
                                socket_, status.error_message())};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {code, fmt::format("rdmoved at {} does not answer. See 'journalctl -u rdmoved'.", socket_)};
    default:
      break;
  }
  if (!status.error_message().empty()) return {code, status.error_message()};
  return {code, fmt::format("rdmoved at {} failed without a reason (status {}). See 'journalctl -u rdmoved'.",
                            socket_, static_cast<int>(status.error_code()))};
}

}  // namespace rdmove::cli
