// Several changes that are all there or none: each is done and looked at, and when one fails it and those
// before it are undone, the last first. Internal to the fabric. Blocks; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"

namespace rdmove::fabric {

struct Step {
  std::string what;                     ///< "set port GUID 00:02:…": reads on after "cannot"
  std::function<Result<void>()> apply;  ///< may fail half done
  std::function<Result<void>()> check;  ///< reads back what apply() did
  std::function<Result<void>()> undo;   ///< to how it was, read back; also when apply() did nothing
};

/// The error of a step that failed. What could not be undone is told in it as well: then the code is
/// kInternal, and the sentence names all that is left.
Result<void> run(const std::string& attempted, const std::vector<Step>& steps);

}  // namespace rdmove::fabric
