#include "guestagent/agent/child_task.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

namespace rdmove::agent {
namespace {

constexpr int crashed = 255;

int pidfd_of(pid_t child) {
  return static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
}

[[noreturn]] void be_the_child(const std::function<int()>& work) {
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  int result = crashed;
  try {
    result = work();
  } catch (...) {
  }
  ::_exit(result);
}

}  // namespace

protocol::Result<void> run_in_child(boost::asio::io_context& io, const std::function<int()>& work,
                                    std::function<void(int error)> done) {
  const pid_t child = ::fork();
  if (child == 0) be_the_child(work);
  const int fd = child < 0 ? -1 : pidfd_of(child);
  if (fd < 0) {
    return protocol::fail(protocol::ErrorCode::InternalError,
                          fmt::format("cannot start a child process: {}", std::strerror(errno)));
  }
  auto exit = std::make_shared<boost::asio::posix::stream_descriptor>(io, fd);
  exit->async_wait(exit->wait_read,
                   [exit, child, done = std::move(done)](const boost::system::error_code& error) {
                     if (error) return;  // the loop ends
                     int status = 0;
                     const bool reaped = ::waitpid(child, &status, 0) == child && WIFEXITED(status);
                     done(reaped && WEXITSTATUS(status) != crashed ? WEXITSTATUS(status) : ECHILD);
                   });
  return {};
}

}  // namespace rdmove::agent
