#include "shadowdev/process/relay_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "shadowdev/device/gid_table.hpp"

namespace rdmove::shadow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostKnown = 4096;

std::array<std::uint8_t, 16> bytes_of(const ibv_gid& gid) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(gid.raw, 16, bytes.begin());
  return bytes;
}

int left_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

RelayLink::RelayLink(std::string path, milliseconds patience) : path_(std::move(path)), patience_(patience) {}

RelayLink::~RelayLink() {
  if (fd_ >= 0) ::close(fd_);
}

void RelayLink::serve(Answerer answerer) {
  answerer_ = std::move(answerer);
  const std::lock_guard hold(lock_);
  reader_ = std::this_thread::get_id();
}

bool RelayLink::connect() {
  if (fd_ >= 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const timeval patience{1, 0};  // an agent that does not read must not hold up whoever asks
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return false;
  }
  splitter_.reset();
  std::vector<ibv_gid> ours;
  {
    const std::lock_guard hold(lock_);
    fd_ = fd;
    ours = ours_;
  }
  for (const ibv_gid& gid : ours) announce_one(gid);
  return true;
}

void RelayLink::announce(const std::vector<ibv_gid>& gids) {
  std::vector<ibv_gid> fresh;
  {
    const std::lock_guard hold(lock_);
    for (const ibv_gid& gid : gids) {
      const auto is_it = [&](const ibv_gid& one) { return same(one, gid); };
      if (std::none_of(ours_.begin(), ours_.end(), is_it)) fresh.push_back(gid);
    }
    ours_.insert(ours_.end(), fresh.begin(), fresh.end());
  }
  for (const ibv_gid& gid : fresh) announce_one(gid);
}

void RelayLink::announce_one(const ibv_gid& gid) {
  Frame here;
  here.kind = FrameKind::Here;
  here.to = gid;
  send(here);
}

bool RelayLink::send(const Frame& frame) {
  const auto bytes = encode(frame);
  const std::lock_guard one(write_lock_);
  int fd = -1;
  {
    const std::lock_guard hold(lock_);
    fd = fd_;
  }
  // Closed by the reader only, which sees that the other end is: so this is never another file.
  if (fd < 0) return false;
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) return true;
  ::shutdown(fd, SHUT_RDWR);
  return false;
}

bool RelayLink::read() {
  if (fd_ < 0) return false;
  std::array<std::byte, 8192> buffer{};
  for (;;) {
    const auto size = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0 || !splitter_.push({buffer.data(), static_cast<std::size_t>(size)})) {
      lose();
      return false;
    }
    while (const auto frame = splitter_.next()) take(*frame);
  }
}

void RelayLink::take(const Frame& frame) {
  if (frame.kind == FrameKind::Question && answerer_) {
    Frame answer;
    answer.kind = FrameKind::Answer;
    answer.id = frame.id;
    answer.payload = answerer_(frame.from, frame.to, frame.payload);
    send(answer);
    return;
  }
  const std::lock_guard hold(lock_);
  const auto found = waiting_.find(frame.id);
  if (found == waiting_.end()) return;  // nobody waits any more
  found->second.answered = true;
  if (frame.kind == FrameKind::Answer) found->second.answer = frame.payload;
  answered_.notify_all();
}

void RelayLink::lose() {
  const std::lock_guard writers(write_lock_);
  const std::lock_guard hold(lock_);
  ::close(fd_);
  fd_ = -1;
  for (auto& [unused, one] : waiting_) one.answered = true;
  answered_.notify_all();
}

std::optional<std::vector<std::byte>> RelayLink::ask(const ibv_gid& from, const ibv_gid& to,
                                                     std::span<const std::byte> question) {
  const auto deadline = steady_clock::now() + patience_;
  Frame frame;
  frame.kind = FrameKind::Question;
  frame.from = from;
  frame.to = to;
  frame.payload.assign(question.begin(), question.end());
  {
    const std::lock_guard hold(lock_);
    if (fd_ < 0) return std::nullopt;
    frame.id = ++last_;
    waiting_[frame.id] = {};
  }
  const bool sent = send(frame);
  std::unique_lock hold(lock_);
  Waiting& mine = waiting_[frame.id];
  while (sent && !mine.answered && steady_clock::now() < deadline) {
    if (std::this_thread::get_id() != reader_) {
      answered_.wait_until(hold, deadline);
      continue;
    }
    hold.unlock();
    pollfd one{fd_, POLLIN, 0};
    ::poll(&one, 1, left_until(deadline));
    const bool alive = read();
    hold.lock();
    if (!alive) break;
  }
  auto answer = std::move(mine.answer);
  waiting_.erase(frame.id);
  if (answer && known_.size() < kMostKnown) known_[{bytes_of(from), bytes_of(to)}] = {from, to};
  return answer;
}

std::vector<std::pair<ibv_gid, ibv_gid>> RelayLink::known() {
  const std::lock_guard hold(lock_);
  std::vector<std::pair<ibv_gid, ibv_gid>> all;
  for (const auto& [unused, one] : known_) all.push_back(one);
  return all;
}

}  // namespace rdmove::shadow
