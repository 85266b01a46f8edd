// Runs a test's part in a process and a network namespace of its own, which end with it. Tests only.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace rdmove::fabric {

constexpr int kNoNamespace = 77;

/// 0, the number of the first thing that was wrong, or kNoNamespace where the caller may not make one.
inline int inOwnNetwork(const std::function<int()>& part) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWNET) == 0 ? part() : kNoNamespace);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace rdmove::fabric
