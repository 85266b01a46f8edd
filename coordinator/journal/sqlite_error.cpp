#include "coordinator/journal/sqlite_error.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

namespace rdmove::journal {

Error toError(const SQLite::Exception& thrown, const std::filesystem::path& path, std::string attempted) {
  const std::string directory = path.parent_path().string();
  const auto error = [&](ErrorCode code, std::string cause, std::string remedy) {
    return Error{code, std::move(attempted), std::move(cause), std::move(remedy)};
  };
  switch (thrown.getErrorCode() & 0xff) {
    case SQLITE_FULL:
      return error(ErrorCode::kExhausted, fmt::format("the disk that holds {} is full", path.string()),
                   "Free some space on it, then try again.");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(ErrorCode::kConflict, fmt::format("another process has {} open", path.string()),
                   fmt::format("Close it (fuser {} names it), then try again.", path.string()));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(
          ErrorCode::kInternal, fmt::format("{} is damaged ({})", path.string(), thrown.what()),
          fmt::format("See \"A damaged journal\" in docs/journal.md; nothing was changed in {}.", directory));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_IOERR:
      return error(
          ErrorCode::kUnavailable,
          fmt::format("{} cannot be read or written ({})", path.string(), thrown.what()),
          fmt::format("Check that {} is writable for rdmoved and that its disk is well.", directory));
    default:
      return error(ErrorCode::kInternal, fmt::format("SQLite: {}", thrown.what()), {});
  }
}

}  // namespace rdmove::journal
