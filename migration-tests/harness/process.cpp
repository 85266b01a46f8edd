#include "migration-tests/harness/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace rdmove::harness {

Child::Child(const Words& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for " + words.front());
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    std::vector<char*> raw;
    raw.reserve(words.size() + 1);
    for (const std::string& word : words) raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    execvp(raw[0], raw.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
  if (pid_ < 0) throw std::runtime_error("no process for " + words.front());
}

Child::~Child() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

bool Child::ended() {
  if (reaped_) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  reaped_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void Child::signal(int number) const {
  if (!reaped_) kill(pid_, number);
}

/// False when there was nothing to read.
bool Child::readSome() {
  pollfd ready{output_, POLLIN, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLIN) == 0) return false;
  char buffer[4096];
  const ssize_t got = read(output_, buffer, sizeof(buffer));
  if (got <= 0) return false;
  text_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::vector<std::string> Child::lines() {
  while (readSome()) {
  }
  std::vector<std::string> whole;
  for (std::size_t end = 0; (end = text_.find('\n', told_)) != std::string::npos; told_ = end + 1)
    whole.push_back(text_.substr(told_, end - told_));
  return whole;
}

Ended Child::wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  Ended outcome;
  while (true) {
    pollfd ready{output_, POLLIN, 0};
    const bool over = ended();
    poll(&ready, 1, over ? 0 : 50);
    if (readSome()) continue;
    if (over) break;
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid_, SIGKILL);
      outcome.late = true;
      int status = 0;
      waitpid(pid_, &status, 0);
      reaped_ = true;
      status_ = 128 + SIGKILL;
      break;
    }
    if ((ready.revents & POLLHUP) != 0) usleep(10000);  // its output is closed, it is about to end
  }
  outcome.status = status_;
  outcome.output = text_;
  return outcome;
}

Ended run(const Words& words, std::chrono::milliseconds limit) {
  return Child(words).wait(limit);
}

}  // namespace rdmove::harness
