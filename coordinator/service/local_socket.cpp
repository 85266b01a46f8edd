#include "coordinator/service/local_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <grpcpp/server_posix.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "coordinator/service/unix_listener.hpp"

namespace rdmove {
namespace {

using Unix = boost::asio::local::stream_protocol;

std::string nameOf(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

}  // namespace

Result<void> LocalSocket::open(const std::string& path, const std::string& group) {
  const std::string what = "listen on " + path;
  constexpr mode_t kGroupToo = 0660;
  if (auto listening = listenOn(acceptor_, path, kGroupToo); !listening) return listening;
  path_ = path;

  if (const struct group* entry = getgrnam(group.c_str()); entry != nullptr) {
    if (chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) {
      return failure(ErrorCode::kUnavailable, what, std::string("chown: ") + std::strerror(errno),
                     "Run rdmoved as root.");
    }
  } else {
    spdlog::warn("there is no group {}: only root can use {}", group, path);
  }
  accept();
  return {};
}

void LocalSocket::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

void LocalSocket::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, Unix::socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error) {
      ucred peer{};
      socklen_t size = sizeof(peer);
      if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
        spdlog::info("local caller pid={} uid={} gid={} exe={}", peer.pid, peer.uid, peer.gid,
                     nameOf(peer.pid));
        const int fd = socket.release();
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        grpc::AddInsecureChannelFromFd(&server_, fd);
      }
    }
    accept();
  });
}

}  // namespace rdmove
