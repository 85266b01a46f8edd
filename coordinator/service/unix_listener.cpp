#include "coordinator/service/unix_listener.hpp"

#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

namespace rdmove {

using Unix = boost::asio::local::stream_protocol;

Result<void> listenOn(Unix::acceptor& acceptor, const std::string& path, mode_t mode) {
  constexpr mode_t kAll = 0777;
  const std::string what = "listen on " + path;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return failure(ErrorCode::kBadInput, what, "the path is too long for a unix socket",
                   "Set a shorter one in [daemon] of rdmoved.toml.");
  }
  boost::system::error_code error;
  Unix::socket probe(acceptor.get_executor());
  probe.connect(Unix::endpoint(path), error);
  if (!error) {
    return failure(ErrorCode::kConflict, what, "another rdmoved answers there",
                   "Stop it first, or set another socket in [daemon] of rdmoved.toml.");
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::filesystem::remove(path, ignored);

  const mode_t before = umask(kAll & ~mode);  // never wider, not even for a moment
  acceptor.open(Unix(), error);
  if (!error) acceptor.bind(Unix::endpoint(path), error);
  umask(before);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return failure(ErrorCode::kUnavailable, what, error.message(), "Is its directory writable?");
  return {};
}

}  // namespace rdmove
