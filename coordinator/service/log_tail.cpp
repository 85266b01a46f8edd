#include "coordinator/service/log_tail.hpp"

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace rdmove {
namespace {

constexpr std::size_t kLines = 5000;

const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt>& tail() {
  static const auto sink = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kLines);
  return sink;
}

}  // namespace

void keepLogTail() {
  spdlog::default_logger()->sinks().push_back(tail());
}

std::vector<std::string> logTail(const std::string& about) {
  std::vector<std::string> lines;
  for (std::string& line : tail()->last_formatted()) {
    if (line.find(about) == std::string::npos) continue;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace rdmove
