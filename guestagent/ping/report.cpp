#include "guestagent/ping/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

namespace rdmove::ping {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string one_sided(std::uint64_t written, std::uint64_t read_back) {
  if (written + read_back == 0) return "";
  return fmt::format("; written {}, found right {}", written, read_back);
}

}  // namespace

void Totals::add(const ConnectionReport& connection) {
  const Tally& tally = *connection.tally;
  ++connections;
  up += connection.state == "up" ? 1 : 0;
  sent += connection.sent;
  delivered += tally.delivered();
  resent += connection.resent;
  blackouts += tally.blackout_count();
  lost += tally.lost();
  duplicated += tally.duplicated();
  reordered += tally.reordered();
  corrupted += tally.corrupted();
  written += tally.written();
  read_back += tally.read_back();
  longest = std::max(longest, tally.longest());
}

std::string milliseconds(std::chrono::microseconds time) {
  return fmt::format("{:.1f} ms", static_cast<double>(time.count()) / 1000);
}

std::string to_text(const ConnectionReport& connection) {
  const Tally& tally = *connection.tally;
  std::string dark = "none";
  if (!tally.blackouts().empty()) {
    dark.clear();
    for (const auto time : tally.blackouts()) dark += (dark.empty() ? "" : ", ") + milliseconds(time);
  }
  return fmt::format(
      "connection {} {}: {}{}; sent {}, delivered {}, resent {}; lost {}, duplicated {}, reordered {}, "
      "corrupted {}{}; blackouts: {}",
      connection.number, connection.peer, connection.state,
      connection.ended.empty() ? "" : " (" + connection.ended + ")", connection.sent, tally.delivered(),
      connection.resent, tally.lost(), tally.duplicated(), tally.reordered(), tally.corrupted(),
      one_sided(tally.written(), tally.read_back()), dark);
}

std::string to_text(const Totals& totals, const char* role) {
  return fmt::format(
      "{}: {} connections, {} up; sent {}, delivered {}, resent {}; lost {}, duplicated {}, reordered {}, "
      "corrupted {}{}; blackouts {}, the longest {}",
      role, totals.connections, totals.up, totals.sent, totals.delivered, totals.resent, totals.lost,
      totals.duplicated, totals.reordered, totals.corrupted, one_sided(totals.written, totals.read_back),
      totals.blackouts, milliseconds(totals.longest));
}

std::string to_json_lines(const Totals& totals, const char* role,
                          const std::vector<ConnectionReport>& connections) {
  nlohmann::json all = {{"role", role},
                        {"connections", totals.connections},
                        {"up", totals.up},
                        {"sent", totals.sent},
                        {"delivered", totals.delivered},
                        {"resent", totals.resent},
                        {"lost", totals.lost},
                        {"duplicated", totals.duplicated},
                        {"reordered", totals.reordered},
                        {"corrupted", totals.corrupted},
                        {"written", totals.written},
                        {"read_back", totals.read_back},
                        {"blackouts", totals.blackouts},
                        {"longest_blackout_us", totals.longest.count()},
                        {"last_return_us", totals.last_return.count()}};
  std::string lines = all.dump() + "\n";
  for (const ConnectionReport& connection : connections) {
    const Tally& tally = *connection.tally;
    // By hand: some hundred of them, a few times a second, are most of what this program would do.
    fmt::format_to(
        std::back_inserter(lines),
        R"({{"connection":{},"peer":{},"state":{},"ended":{},"sent":{},"delivered":{},"resent":{},)"
        R"("lost":{},"duplicated":{},"reordered":{},"corrupted":{},)"
        R"("written":{},"read_back":{},"blackouts_us":[)",
        connection.number, quoted(connection.peer), quoted(connection.state), quoted(connection.ended),
        connection.sent, tally.delivered(), connection.resent, tally.lost(), tally.duplicated(),
        tally.reordered(), tally.corrupted(), tally.written(), tally.read_back());
    const char* comma = "";
    for (const auto time : tally.blackouts()) {
      fmt::format_to(std::back_inserter(lines), "{}{}", comma, time.count());
      comma = ",";
    }
    lines += "]}\n";
  }
  return lines;
}

bool replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::FILE* file = std::fopen(fresh.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed && std::rename(fresh.c_str(), path.c_str()) == 0;
}

}  // namespace rdmove::ping
