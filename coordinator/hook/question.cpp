#include "coordinator/hook/question.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "coordinator/base/descriptor.hpp"

namespace rdmove {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kQuestion = "incoming ";
constexpr const char* kYes = "yes";
constexpr const char* kNo = "no ";
constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kLongestAnswer = 4096;

/// The connected socket, or -1 with errno.
int connectOnce(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return -1;
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return -1;
  return fd.release();
}

/// No event tells that a daemon is back: it is tried again.
int connectWithin(const std::string& path, milliseconds patience) {
  constexpr milliseconds kTryAgain{20};
  const auto deadline = Clock::now() + patience;
  while (true) {
    const int fd = connectOnce(path);
    if (fd >= 0 || (errno != ENOENT && errno != ECONNREFUSED) || Clock::now() >= deadline) return fd;
    std::this_thread::sleep_for(kTryAgain);
  }
}

Result<std::string> readAnswer(int fd, milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  const auto silent = [](const char* why) { return failure(ErrorCode::kUnavailable, "", why); };
  std::string text;
  while (text.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(std::max<long long>(left, 0)));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return silent("it does not answer");
    char piece[512];
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got <= 0 || text.size() > kLongestAnswer) return silent("it ended the conversation");
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text.substr(0, text.find('\n'));
}

tl::unexpected<Error> noWord(const std::string& name, const std::string& cause) {
  return failure(
      ErrorCode::kUnavailable, "",
      fmt::format("{} has RDMA devices, and rdmoved of this host cannot be asked about it: {}", name, cause),
      "Start it (systemctl start rdmoved) and migrate again.");
}

}  // namespace

std::string questionLine(const IncomingQuestion& question) {
  return fmt::format("{}{} {}\n", kQuestion, question.uuid.str(), question.name);
}

Result<IncomingQuestion> readQuestion(const std::string& line) {
  const std::size_t words = std::strlen(kQuestion);
  if (line.rfind(kQuestion, 0) != 0 || line.size() < words + kUuidLength + 2 ||
      line[words + kUuidLength] != ' ')
    return failure(ErrorCode::kBadInput, "", "this is no question of libvirt's hook");
  return IncomingQuestion{DomainUuid(line.substr(words, kUuidLength)), line.substr(words + kUuidLength + 1)};
}

std::string answerLine(const Result<void>& may) {
  if (may) return std::string(kYes) + "\n";
  std::string reason = may.error().sentence();
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return kNo + reason + "\n";
}

Result<void> askWhetherExpected(const std::string& socket, const IncomingQuestion& question,
                                milliseconds restart, milliseconds answer) {
  const Descriptor fd(connectWithin(socket, restart));
  if (fd.get() < 0) return noWord(question.name, fmt::format("{}: {}", socket, std::strerror(errno)));
  const std::string line = questionLine(question);
  if (send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return noWord(question.name, "it does not listen");
  const auto said = readAnswer(fd.get(), answer);
  if (!said) return noWord(question.name, said.error().cause);
  if (*said == kYes) return {};
  if (said->rfind(kNo, 0) == 0) return failure(ErrorCode::kRefused, "", said->substr(std::strlen(kNo)));
  return noWord(question.name, "its answer is not understood; are hook and daemon of one version?");
}

}  // namespace rdmove
