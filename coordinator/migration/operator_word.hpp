// What only an operator can know when a host is silent for good: the word that `rdmove resolve` brings. Pure
// values, any thread. What each does in which state: docs/operations.md, "When a host is lost".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/journal/journal.hpp"

namespace rdmove {

/// Names are persisted and typed: do not rename.
enum class OperatorWord {
  kSourceIsDead,       ///< "source-is-dead": nothing of the VM, nor its identity, is live on the source
  kDestinationIsDead,  ///< "destination-is-dead": the VM does not run there and will not come up by itself
  kRunsThere,          ///< "runs-there": the VM was seen to run at the destination
};

const char* toString(OperatorWord word);
std::optional<OperatorWord> parseOperatorWord(std::string_view text);

/// The fact in the journal that keeps it.
inline constexpr const char* kOperatorWord = "operator-word";

/// A word that can be said, and what follows from it.
struct Choice {
  OperatorWord word;
  std::string consequence;
};

/// What stands still, and what can be said about it. No choice: it needs no word.
struct Predicament {
  std::string sentence;
  std::vector<Choice> choices;
};

/// Of an unfinished migration as its journal has it.
Predicament predicamentOf(const MigrationRecord& record);

}  // namespace rdmove
