#include "process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmove::lab {

Running::Running(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
}

Running::~Running() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

bool Running::ended() {
  if (reaped_) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  reaped_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

Outcome Running::wait(std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  // Until the program has ended: what it left running may keep the pipe open for longer.
  while (true) {
    pollfd ready{output_, POLLIN, 0};
    const bool over = ended();
    poll(&ready, 1, over ? 0 : 50);
    char buffer[4096];
    ssize_t got = 0;
    if ((ready.revents & POLLIN) != 0 && (got = read(output_, buffer, sizeof(buffer))) > 0) {
      text_.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    if (over) break;
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "no end after " << limit.count() << " s; said so far: " << text_;
      kill(pid_, SIGKILL);
      break;
    }
    if ((ready.revents & POLLHUP) != 0) usleep(10000);  // its output is closed, it is about to end
  }
  if (!reaped_) {
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return {status_, text_};
}

Outcome run(const std::vector<std::string>& words, std::chrono::seconds limit) {
  return Running(words).wait(limit);
}

}  // namespace rdmove::lab
