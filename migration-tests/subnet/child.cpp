#include "migration-tests/subnet/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace rdmove::subnet {
namespace {

using Clock = std::chrono::steady_clock;

int left(Clock::time_point deadline) {
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return rest > 0 ? static_cast<int>(rest) + 1 : 0;
}

[[noreturn]] void become(const ChildOptions& options, int input, int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : options.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  for (const std::string& variable : options.environment) putenv(const_cast<char*>(variable.c_str()));
  if (options.folder.empty() || chdir(options.folder.c_str()) == 0) execvp(words[0], words.data());
  _exit(127);
}

}  // namespace

Child::Child(const ChildOptions& options) : name_(options.words.at(0)) {
  // A socket, since a write to a pipe whose reader has ended would end the test program.
  int in[2];
  int out[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 || pipe2(out, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  int errors = out[1];
  if (!options.errors.empty()) {
    errors = open(options.errors.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (errors < 0) throw std::runtime_error("cannot write " + options.errors.string());
  }
  pid_ = fork();
  if (pid_ == 0) become(options, in[0], options.is_output_kept ? out[1] : errors, errors);
  close(in[0]);
  close(out[1]);
  if (errors != out[1]) close(errors);
  input_ = in[1];
  output_ = out[0];
  if (pid_ < 0) throw std::runtime_error("cannot start " + name_);
  process_ =
      static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));  // glibc 2.36 declares pidfd_open() for C only
}

Child::~Child() {
  stop();
  close_input();
  close(output_);
  close(process_);
}

void Child::write(const std::string& text) {
  const char* at = text.data();
  for (std::size_t rest = text.size(); rest > 0;) {
    const ssize_t done = send(input_, at, rest, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::runtime_error(name_ + " does not read: " + std::strerror(errno));
    at += done;
    rest -= static_cast<std::size_t>(done);
  }
}

void Child::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

// More output, or false: it has closed it, or the time is over.
bool Child::fill(Clock::time_point deadline) {
  pollfd ready{output_, POLLIN, 0};
  if (poll(&ready, 1, left(deadline)) <= 0) return false;
  char buffer[4096];
  const ssize_t got = read(output_, buffer, sizeof buffer);
  if (got <= 0) return false;
  unread_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::string Child::read_until(const std::string& text, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (true) {
    if (const auto at = unread_.find(text); at != std::string::npos) {
      const std::string before = unread_.substr(0, at + text.size());
      unread_.erase(0, at + text.size());
      return before;
    }
    if (!fill(deadline)) throw std::runtime_error(name_ + " did not say \"" + text + "\", but: " + unread_);
  }
}

std::string Child::read_to_end(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (fill(deadline)) {
  }
  if (!wait(std::chrono::milliseconds(left(deadline)))) {
    throw std::runtime_error(name_ + " did not end within " + std::to_string(limit.count()) +
                             " ms; it said: " + unread_);
  }
  return std::exchange(unread_, {});
}

bool Child::wait(std::chrono::milliseconds limit) {
  if (is_reaped_) return true;
  pollfd ended{process_, POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(limit.count())) <= 0) return false;
  int status = 0;
  waitpid(pid_, &status, 0);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return is_reaped_ = true;
}

bool Child::has_ended() {
  return wait(std::chrono::milliseconds(0));
}

void Child::stop() {
  if (has_ended()) return;
  kill(pid_, SIGTERM);
  if (wait(std::chrono::seconds(5))) return;
  kill(pid_, SIGKILL);
  wait(std::chrono::seconds(5));
}

}  // namespace rdmove::subnet
