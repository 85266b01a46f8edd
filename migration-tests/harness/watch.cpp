#include "migration-tests/harness/watch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "migration-tests/harness/faults.hpp"

namespace rdmove::harness {
namespace {

constexpr std::chrono::milliseconds kTryAgain{300};

}  // namespace

std::optional<Word> wordOf(const std::string& host, const std::string& json_line, const std::string& vm) {
  const auto update = nlohmann::json::parse(json_line, nullptr, false);
  if (!update.is_object() || !update.contains("migration")) return std::nullopt;
  const auto& migration = update.at("migration");
  if (migration.value("domain", "") != vm) return std::nullopt;
  return Word{host, migration.value("id", ""), migration.value("role", ""), migration.value("phase", ""),
              migration.value("outcome", "")};
}

std::vector<Word> Watch::news() {
  std::vector<Word> fresh;
  if (!child_) {
    if (std::chrono::steady_clock::now() < again_) return fresh;
    child_ = std::make_unique<Child>(host_.on("exec " + host_.rdmoveWords() + "watch --json").words());
  }
  const bool over = child_->ended();
  for (const std::string& line : child_->lines()) {
    const auto word = wordOf(host_.name, line, vm_);
    if (!word || word == last_) continue;
    last_ = word;
    fresh.push_back(*word);
  }
  if (over) {
    child_.reset();
    again_ = std::chrono::steady_clock::now() + kTryAgain;
  }
  return fresh;
}

StandStill::StandStill(const Host& host)
    : host_(host),
      child_(
          host.on(fmt::format(
                      "p={}; while [ -r /proc/$p/status ]; do while read -r k v; do case $k$v in "
                      "State:T*) exit 0 ;; esac; done </proc/$p/status; sleep 0.02; done 2>/dev/null; exit 1",
                      daemonPid(host)))
              .words()) {}

bool StandStill::reached() {
  if (!stands_) stands_ = child_.ended() && child_.status() == 0;
  return stands_;
}

void StandStill::goOn() {
  run(host_.on(fmt::format("kill -CONT {}", daemonPid(host_))));
}

}  // namespace rdmove::harness
