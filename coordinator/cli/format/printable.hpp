// Makes text from the daemon, a partner or a guest safe to show: nothing in it can steer the terminal.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace rdmove::cli {

/// Control characters (C0, DEL, and C1 in UTF-8) become '?'; line breaks and tabs a blank: stays on one line.
std::string printable(std::string_view text);

/// The same, but line breaks stay.
std::string printableLines(std::string_view text);

/// Microseconds since 1970 as "2026-11-30 08:43:07Z"; "-" for 0 and for what no calendar has.
std::string wallTime(long long microseconds);

/// "1.5 GiB", "512 B".
std::string byteCount(unsigned long long bytes);

}  // namespace rdmove::cli
