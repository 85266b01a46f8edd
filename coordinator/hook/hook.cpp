#include "coordinator/hook/hook.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "coordinator/hook/mark.hpp"
#include "coordinator/hook/question.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"

namespace rdmove {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRefuse = 1;
constexpr int kMisused = 2;
constexpr std::size_t kMostInput = 10 * 1024 * 1024;
constexpr std::size_t kPiece = 64 * 1024;

/// A name from a domain's XML may have anything in it; libvirt's error has one line.
HookEnd end(int status, std::string line) {
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      ' ');
  return {status, "rdmove: " + std::move(line)};
}

/// At most kMostInput bytes; libvirt does not mind that the rest is not read.
Result<std::string> readInput(int input, std::chrono::milliseconds patience) {
  const std::string attempted = "read the domain's XML";
  const auto deadline = Clock::now() + patience;
  std::string text;
  while (text.size() < kMostInput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{input, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(std::max<long long>(left, 0)));
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0) return failure(ErrorCode::kTimeout, attempted, "nothing comes on standard input");
    const std::size_t before = text.size();
    text.resize(std::min(before + kPiece, kMostInput));
    const ssize_t got = read(input, text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return failure(ErrorCode::kUnavailable, attempted, std::strerror(errno));
  }
  return text;
}

/// A domain comes to this host. One that has no metadata of ours is none of our business, whatever else is
/// wrong.
HookEnd incoming(const std::string& name, int input, const HookPlaces& places) {
  const auto text = readInput(input, places.input);
  if (!text) return end(kRefuse, text.error().sentence());
  if (text->find(kMetadataUri) == std::string::npos) return {};
  const auto domain = incomingDomain(*text);
  if (!domain) return end(kRefuse, name + ": " + domain.error().sentence());
  if (!domain->declares_vfs) return {};
  const auto may = askWhetherExpected(places.socket, {domain->uuid, name}, places.restart, places.answer);
  return may ? HookEnd{} : end(kRefuse, may.error().sentence());
}

bool isDaemonHook(const std::string& program) {
  return std::filesystem::path(program).parent_path().filename() == "daemon.d";
}

HookEnd misused() {
  return end(kMisused,
             "this program is libvirt's hook, which calls it as: rdmove DOMAIN OPERATION SUB-OPERATION "
             "EXTRA, with the "
             "domain's XML on standard input. By hand there is nothing to do with it; see rdmove doctor");
}

}  // namespace

HookEnd runHook(const std::vector<std::string>& words, int input, const HookPlaces& places) {
  constexpr std::size_t kWords = 5;
  if (words.size() != kWords || words[1].empty() || words[2].empty()) return misused();
  const std::string& operation = words[2];
  if (operation != "shutdown") markCall(places.mark, getppid(), places.callers);
  if (isDaemonHook(words[0])) return {};
  // Operations of a later libvirt are none of ours, and must not fail because of us.
  if (operation != "migrate" || words[3] != "begin") return {};
  return incoming(words[1], input, places);
}

}  // namespace rdmove
