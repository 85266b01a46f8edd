#include "coordinator/cli/format/printable.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace rdmove::cli {
namespace {

enum class LineBreaks { kBlank, kKeep };

std::string clean(std::string_view text, LineBreaks breaks) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (c == '\n' || c == '\t' || c == '\r') {
      out += breaks == LineBreaks::kKeep && c == '\n' ? '\n' : ' ';
    } else if (c < 0x20 || c == 0x7f) {
      out += '?';
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
      out += '?';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return clean(text, LineBreaks::kBlank);
}

std::string printableLines(std::string_view text) {
  return clean(text, LineBreaks::kKeep);
}

std::string wallTime(long long microseconds) {
  const std::time_t seconds = microseconds / 1'000'000;
  std::tm parts{};
  if (microseconds <= 0 || gmtime_r(&seconds, &parts) == nullptr || parts.tm_year > 8099) return "-";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string byteCount(unsigned long long bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace rdmove::cli
