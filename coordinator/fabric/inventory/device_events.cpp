#include "coordinator/fabric/inventory/device_events.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <thread>

#include "coordinator/base/descriptor.hpp"

namespace rdmove::fabric {
namespace {

constexpr unsigned kKernelUevents = 1;  // the kernel's group; udev repeats them in group 2
constexpr std::size_t kLargestMessage = 16384;
constexpr std::size_t kLargestBatch = 1024;

int openGroup(int protocol, unsigned group) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (fd < 0) return -1;
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = group;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

std::string_view valueOf(std::string_view line, std::string_view key) {
  const bool ours = line.starts_with(key) && line.size() > key.size() && line[key.size()] == '=';
  return ours ? line.substr(key.size() + 1) : std::string_view();
}

class Listener : public DeviceEvents {
 public:
  Listener(int uevents, int links, int stop, HeardEvents heard)
      : uevents_(uevents), links_(links), stop_(stop), heard_(std::move(heard)), thread_([this] { run(); }) {}
  ~Listener() override {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  void run() {
    std::array<pollfd, 3> waits{
        {{uevents_.get(), POLLIN, 0}, {links_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    heard_({});
    for (;;) {
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
      if (waits[2].revents != 0) return;
      batch_.clear();
      if (waits[0].revents != 0) drain(uevents_.get(), [this](auto message) { uevent(message); });
      if (waits[1].revents != 0) drain(links_.get(), [this](auto message) { links(message); });
      if (!batch_.empty()) heard_(batch_);
    }
  }

  template <class Take>
  void drain(int fd, Take take) {
    alignas(nlmsghdr) std::array<char, kLargestMessage> buffer;
    for (;;) {
      sockaddr_nl from{};
      socklen_t length = sizeof from;
      const ssize_t got =
          recvfrom(fd, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (got < 0 && errno == ENOBUFS) {
        keep({"lost", "", ""});
        continue;
      }
      if (got <= 0) return;
      if (from.nl_pid != 0) continue;  // only the kernel is believed
      take(std::span<const char>(buffer.data(), static_cast<std::size_t>(got)));
    }
  }

  void keep(DeviceEvent event) {
    if (batch_.size() < kLargestBatch) return batch_.push_back(std::move(event));
    batch_.back() = {"lost", "", ""};
  }

  void uevent(std::span<const char> message) {
    if (auto event = deviceEventOf(message)) keep(std::move(*event));
  }

  void links(std::span<const char> message) {
    auto left = static_cast<int>(message.size());
    // libnl's walk wants what it does not change without const.
    auto* header = reinterpret_cast<nlmsghdr*>(const_cast<char*>(message.data()));
    for (; nlmsg_ok(header, left) != 0; header = nlmsg_next(header, &left)) {
      if (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK) continue;
      if (nlmsg_valid_hdr(header, sizeof(ifinfomsg)) == 0) continue;
      const auto* link = static_cast<const ifinfomsg*>(nlmsg_data(header));
      char name[IF_NAMESIZE] = "";
      (void)if_indextoname(static_cast<unsigned>(link->ifi_index), name);
      keep({"link", "net", name});
    }
  }

  Descriptor uevents_;
  Descriptor links_;
  Descriptor stop_;
  HeardEvents heard_;
  std::vector<DeviceEvent> batch_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

std::optional<DeviceEvent> deviceEventOf(std::span<const char> message) {
  DeviceEvent event;
  std::string_view text(message.data(), message.size());
  std::string_view path;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (const auto action = valueOf(line, "ACTION"); !action.empty()) event.action = action;
    if (const auto subsystem = valueOf(line, "SUBSYSTEM"); !subsystem.empty()) event.subsystem = subsystem;
    if (const auto device = valueOf(line, "DEVPATH"); !device.empty()) path = device;
  }
  const bool ours = event.subsystem == "pci" || event.subsystem == "infiniband" || event.subsystem == "net";
  if (!ours || event.action.empty() || path.empty()) return std::nullopt;
  event.name = path.substr(path.rfind('/') + 1);
  return event;
}

Result<std::unique_ptr<DeviceEvents>> listenToDevices(HeardEvents heard) {
  const auto failed = [](const char* what) {
    return failure(ErrorCode::kUnavailable, "listen to the kernel's device events",
                   fmt::format("{}: {}", what, std::generic_category().message(errno)));
  };
  const int uevents = openGroup(NETLINK_KOBJECT_UEVENT, kKernelUevents);
  if (uevents < 0) return failed("uevents");
  const int links = openGroup(NETLINK_ROUTE, RTMGRP_LINK);
  if (links < 0) {
    close(uevents);
    return failed("rtnetlink");
  }
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) {
    close(uevents);
    close(links);
    return failed("eventfd");
  }
  return std::make_unique<Listener>(uevents, links, stop, std::move(heard));
}

}  // namespace rdmove::fabric
