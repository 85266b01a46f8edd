// The last lines of the daemon's own log, kept in memory for `rdmove export`: wherever the log goes, they are
// at hand. Any thread.
#pragma once

#include <string>
#include <vector>

namespace rdmove {

/// From now on; once, after the default logger was chosen.
void keepLogTail();
/// Those of the kept lines that have `about` in them, the oldest first.
std::vector<std::string> logTail(const std::string& about);

}  // namespace rdmove
