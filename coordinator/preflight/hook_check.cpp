#include "coordinator/preflight/hook_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "coordinator/hook/mark.hpp"

namespace rdmove {

Finding checkHook(const HookFiles& files, const std::string& host) {
  if (access(files.program.c_str(), X_OK) != 0) {
    return {Severity::kWarning, "no-hook",
            fmt::format(
                "There is no {}: a VM with RDMA devices that another mover brings unprepared is not refused.",
                files.program),
            "Install the package rdmove, which has it, or see docs/hook.md.", host};
  }
  const auto mark = readMark(files.mark);
  const auto now = mark ? processMark(mark->pid) : std::nullopt;
  if (mark && now == mark) {
    return {Severity::kOk, "hook", fmt::format("libvirt (pid {}) calls rdmove's hook.", mark->pid), "", host};
  }
  return {Severity::kWarning, "hook-not-called", "The libvirt that runs now has never called rdmove's hook.",
          "systemctl reload libvirtd (or virtqemud): it looks for hooks at its start and at a reload.", host};
}

}  // namespace rdmove
