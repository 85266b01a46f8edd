// One line of preflight or doctor: what was looked at, how it is, what to do. Plain value.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace rdmove {

enum class Severity { kOk = 0, kWarning = 1, kError = 2 };

struct Finding {
  Severity severity = Severity::kOk;
  std::string code;  ///< stable: "no-free-vf"
  std::string sentence;
  std::string remedy;
  std::string host;
};

inline bool anyError(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
}

}  // namespace rdmove
