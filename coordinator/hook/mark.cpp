#include "coordinator/hook/mark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rdmove {
namespace {

std::string lineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::optional<ProcessMark> processMark(pid_t pid) {
  constexpr int kFieldsBetween = 19;  // from the state, which follows the name in brackets, to the start
  const std::string stat = lineOf(fmt::format("/proc/{}/stat", pid));
  const auto name_ends = stat.rfind(')');
  if (name_ends == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_ends + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  ProcessMark mark{pid, 0};
  if (!(fields >> mark.started)) return std::nullopt;
  return mark;
}

void markCall(const std::string& file, pid_t caller, const std::vector<std::string>& names) {
  const std::string name = lineOf(fmt::format("/proc/{}/comm", caller));
  if (std::find(names.begin(), names.end(), name) == names.end()) return;
  const auto mark = processMark(caller);
  if (!mark || readMark(file) == mark) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  // Several calls may come at once: each writes a file of its own, and the last rename wins with the same
  // words.
  const std::string fresh = fmt::format("{}.{}", file, getpid());
  {
    std::ofstream out(fresh);
    out << mark->pid << ' ' << mark->started << '\n';
  }
  std::filesystem::rename(fresh, file, ignored);
  if (ignored) std::filesystem::remove(fresh, ignored);
}

std::optional<ProcessMark> readMark(const std::string& file) {
  std::istringstream line(lineOf(file));
  ProcessMark mark;
  if (!(line >> mark.pid >> mark.started)) return std::nullopt;
  return mark;
}

}  // namespace rdmove
