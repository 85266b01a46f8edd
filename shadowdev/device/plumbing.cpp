#include "shadowdev/device/plumbing.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

namespace rdmove::shadow {
namespace {

/// Markers of a move: one send and one receive of each of 32 QPs. The CQ is harvested all the while.
constexpr int kSpareEntries = 64;
/// A peer may not fill our memory.
constexpr std::size_t kMostFarNumbers = 65536;
constexpr std::size_t kMostAway = 1024;
/// Then datagrams are sent and lost, as without us.
constexpr std::chrono::seconds kAwayAtMost{60};

FarNumber device_at(const ibv_gid& gid) {
  FarNumber device;
  std::copy_n(gid.raw, 16, device.gid.begin());
  return device;
}

}  // namespace

int make_set(int first) {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  add_to_set(set, first);
  return set;
}

void add_to_set(int set, int fd) {
  epoll_event event{EPOLLIN, {}};
  event.data.fd = fd;
  epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

void remove_from_set(int set, int fd) {
  epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr);
}

bool wait_for(int set) {
  if ((fcntl(set, F_GETFL) & O_NONBLOCK) != 0) {  // programs set it on what they take for the channel's
    errno = EAGAIN;
    return false;
  }
  pollfd one{set, POLLIN, 0};
  return ::poll(&one, 1, -1) == 1;
}

int make_cq(Engine& engine, VirtualCq& cq) {
  VirtualContext& context = VirtualContext::of(cq.context);
  auto* channel = static_cast<VirtualChannel*>(cq.channel);
  ibv_comp_channel* physical_channel = channel == nullptr ? nullptr : channel->physical;
  cq.physical =
      engine.physical.create_cq(context.physical, cq.cqe + kSpareEntries, &cq, physical_channel, cq.vector);
  return cq.physical == nullptr ? errno : 0;
}

void learn_numbers(Engine& engine, VirtualContext& context, const ibv_gid& from, const ibv_gid& of) {
  Question question;
  question.ask = Ask::Numbers;
  const auto answer = engine.ask(from, of, question);
  if (answer && answer->said == Said::Yes) take_numbers(context, of, answer->pairs);
}

void take_numbers(VirtualContext& context, const ibv_gid& of, const Pairs& pairs) {
  FarNumber far;
  std::copy_n(of.raw, 16, far.gid.begin());
  const std::unique_lock tables(context.tables);
  for (const auto& [program, physical] : pairs) {
    if (context.far_numbers.size() >= kMostFarNumbers) return;
    far.number = program;
    if (const auto old = context.far_numbers.find(far); old != context.far_numbers.end()) {
      const FarNumber was{far.gid, old->second};
      const auto back = context.far_programs.find(was);
      if (back != context.far_programs.end() && back->second == program) context.far_programs.erase(back);
    }
    context.far_numbers[far] = physical;
    context.far_programs[FarNumber{far.gid, physical}] = program;
  }
}

void mark_away(VirtualContext& context, const ibv_gid& of) {
  const std::unique_lock tables(context.tables);
  if (context.away.size() < kMostAway)
    context.away[device_at(of)] = std::chrono::steady_clock::now() + kAwayAtMost;
}

void mark_back(Engine& engine, VirtualContext& context, const ibv_gid& of) {
  const std::unique_lock tables(context.tables);
  if (context.away.erase(device_at(of)) != 0) ++engine.to_pump;
}

}  // namespace rdmove::shadow
