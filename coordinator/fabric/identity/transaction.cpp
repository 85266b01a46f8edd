#include "coordinator/fabric/identity/transaction.hpp"

#include <fmt/format.h>

namespace rdmove::fabric {
namespace {

/// The cause as it stands in a longer sentence.
std::string told(const Error& error) {
  Error brief = error;
  brief.remedy.clear();
  std::string text = brief.sentence();
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

Result<void> doOne(const Step& step) {
  if (auto applied = step.apply(); !applied) return applied;
  return step.check ? step.check() : Result<void>();
}

}  // namespace

Result<void> run(const std::string& attempted, const std::vector<Step>& steps) {
  for (std::size_t done = 0; done < steps.size(); ++done) {
    const auto result = doOne(steps[done]);
    if (result) continue;
    Error error = result.error();
    error.cause = told(error);
    error.attempted = attempted;
    std::string left;
    for (std::size_t back = done + 1; back-- > 0;) {
      if (!steps[back].undo) continue;
      if (const auto undone = steps[back].undo(); !undone)
        left += fmt::format("; and to undo \"{}\" failed: {}", steps[back].what, told(undone.error()));
    }
    if (!left.empty()) {
      error.code = ErrorCode::kInternal;
      error.cause += left;
    }
    return tl::unexpected<Error>(std::move(error));
  }
  return {};
}

}  // namespace rdmove::fabric
