// SQLite's exceptions end here: guarded() runs one operation and turns what it throws into an Error whose
// cause and remedy an operator can act on. Internal to the journal.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <string>
#include <utility>

#include "coordinator/base/result.hpp"

namespace rdmove::journal {

Error toError(const SQLite::Exception& thrown, const std::filesystem::path& path, std::string attempted);

/// `operation` returns a Result; `attempted` is a callable, so that the text is only made when something
/// failed.
template <class Attempted, class Operation>
auto guarded(const std::filesystem::path& path, Attempted&& attempted, Operation&& operation)
    -> decltype(operation()) {
  try {
    return std::forward<Operation>(operation)();
  } catch (const SQLite::Exception& thrown) {
    return tl::unexpected<Error>(toError(thrown, path, attempted()));
  }
}

}  // namespace rdmove::journal
