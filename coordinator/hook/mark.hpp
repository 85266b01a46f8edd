// The mark that the hook leaves: which process of libvirt's called it last. Doctor reads it, since a hook
// that is new to a running libvirt is never called, and nothing else says so. Form: docs/hook.md. Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rdmove {

/// A process, told from a later one of the same pid.
struct ProcessMark {
  pid_t pid = 0;
  unsigned long long started = 0;  ///< clock ticks since boot (/proc/PID/stat, field 22)
  bool operator==(const ProcessMark&) const = default;
};

/// nullopt when there is no such process.
std::optional<ProcessMark> processMark(pid_t pid);

/// Writes `file` when the process' name is one of `names`. A mark that cannot be written is missing, no more.
void markCall(const std::string& file, pid_t caller, const std::vector<std::string>& names);
/// nullopt when there is none, or none that can be read.
std::optional<ProcessMark> readMark(const std::string& file);

}  // namespace rdmove
