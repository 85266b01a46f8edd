#include "guestagent/ping/runner.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace rdmove::ping {
namespace {

constexpr std::chrono::milliseconds kStatusEach{500};
constexpr int kStatusShare = 10;  // hundreds of connections on a slow machine: at most a tenth of the time

int milliseconds_until(Clock::time_point when, Clock::time_point now) {
  if (when <= now) return 0;
  // Rounded up: waking a little early would only spin.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - now).count();
  return static_cast<int>(std::min<std::int64_t>(left, 1000));
}

}  // namespace

void say(const Options& options, const std::string& line) {
  std::FILE* out = options.json ? stderr : stdout;
  fmt::print(out, "{}\n", line);
}

Runner::Runner(failover::Loop& loop, const Options& options) : loop_(loop), options_(options) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) == 0) signals_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

Runner::~Runner() {
  if (signals_ >= 0) ::close(signals_);
}

bool Runner::run(Role& role) {
  if (signals_ < 0) return false;
  auto status_due = Clock::now();
  while (!role.is_over() && interrupts_ < 2) {
    const auto now = Clock::now();
    const auto due = role.tick(now);
    if (now >= status_due) {
      write_status(role);
      const auto then = Clock::now();
      status_due = then + std::max<Clock::duration>(kStatusEach, kStatusShare * (then - now));
    }
    std::fflush(stdout);  // here, and not for each line: a crowd that comes back has many
    pollfd files[] = {{loop_.fd(), POLLIN, 0}, {signals_, POLLIN, 0}};
    ::poll(files, 2, milliseconds_until(std::min(due, status_due), now));
    if (files[1].revents != 0) take_signals(role);
    loop_.dispatch();
  }
  write_status(role);
  if (options_.json) {
    fmt::print("{}", to_json_lines(role.totals(), role.name(), role.report()));
  } else {
    print_state(role);
  }
  std::fflush(stdout);
  return true;
}

void Runner::take_signals(Role& role) {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGUSR1) {
      print_state(role);
    } else {
      ++interrupts_;  // the second one does not wait
      role.interrupted();
    }
  }
}

void Runner::print_state(const Role& role) const {
  for (const ConnectionReport& connection : role.report()) say(options_, to_text(connection));
  say(options_, to_text(role.totals(), role.name()));
}

void Runner::write_status(const Role& role) {
  if (options_.status_file.empty() || is_status_refused_) return;
  if (replace_file(options_.status_file, to_json_lines(role.totals(), role.name(), role.report()))) return;
  is_status_refused_ = true;
  fmt::print(stderr, "rdmove-ping: {}: {}; no status is written\n", options_.status_file,
             std::strerror(errno));
}

}  // namespace rdmove::ping
