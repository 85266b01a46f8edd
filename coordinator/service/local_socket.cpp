#include "coordinator/service/local_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <grpcpp/server_posix.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

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
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return failure(ErrorCode::kBadInput, what, "the path is too long for a unix socket",
                   "Set a shorter [daemon] socket.");
  }
  boost::system::error_code error;
  Unix::socket probe(acceptor_.get_executor());
  probe.connect(Unix::endpoint(path), error);
  if (!error) {
    return failure(ErrorCode::kConflict, what, "another rdmoved answers there",
                   "Stop it first, or set another [daemon] socket.");
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::filesystem::remove(path, ignored);

  const mode_t before = umask(0117);  // never wider than 0660, not even for a moment
  acceptor_.open(Unix(), error);
  if (!error) acceptor_.bind(Unix::endpoint(path), error);
  umask(before);
  if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return failure(ErrorCode::kUnavailable, what, error.message(), "Is its directory writable?");
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
