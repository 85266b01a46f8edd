// /etc/libvirt/hooks/qemu.d/rdmove, and daemon.d/rdmove: called by libvirt (docs/hook.md).
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "coordinator/hook/hook.hpp"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const rdmove::HookEnd end = rdmove::runHook({argv, argv + argc}, STDIN_FILENO, {});
  if (!end.line.empty()) std::fprintf(stderr, "%s\n", end.line.c_str());
  return end.status;
}
