#include "guestagent/agent/host_port.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace rdmove::agent {
namespace {

constexpr std::size_t max_kept_bytes = 256 * 1024;

int edge_triggered_epoll(int fd) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  if (epoll < 0 || ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::runtime_error(fmt::format("cannot watch the port: {}", std::strerror(errno)));
  }
  return epoll;
}

// The names in /dev/virtio-ports are udev's work; an initramfs or a container without it has only
// /dev/vportNpM.
std::string without_udev(const std::filesystem::path& path, const std::filesystem::path& sys) {
  std::error_code error;
  for (std::filesystem::directory_iterator port(sys / "class/virtio-ports", error), end;
       !error && port != end; port.increment(error)) {
    std::ifstream file(port->path() / "name");
    std::string name;
    if (std::getline(file, name) && name == path.filename())
      return "/dev/" + port->path().filename().string();
  }
  return path;
}

}  // namespace

int open_host_port(const std::string& path, const std::string& sys) {
  const auto device = ::access(path.c_str(), F_OK) == 0 ? path : without_udev(path, sys);
  const int fd = ::open(device.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) {
    // A test's stand-in may be a terminal, which would echo the host's own words to it.
    if (termios mode{}; ::tcgetattr(fd, &mode) == 0) {
      ::cfmakeraw(&mode);
      ::tcsetattr(fd, TCSANOW, &mode);
    }
    return fd;
  }
  const int why = errno;
  const char* hint = why == EBUSY    ? "another process has it open; is another rdmove-agent running?"
                     : why == ENOENT ? "does the domain have a channel with target name org.rdmove.agent.0?"
                                     : "it needs root";
  throw std::runtime_error(fmt::format("cannot open {}: {}; {}", path, std::strerror(why), hint));
}

HostPort::HostPort(boost::asio::io_context& io, int fd, Listener listener)
    : fd_(fd), listener_(std::move(listener)), edges_(io, edge_triggered_epoll(fd)) {}

HostPort::~HostPort() {
  ::close(fd_);
}

void HostPort::start() {
  wait();
}

void HostPort::wait() {
  edges_.async_wait(edges_.wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    look();
    wait();
  });
}

void HostPort::look() {
  epoll_event event{};
  if (::epoll_wait(edges_.native_handle(), &event, 1, 0) != 1) return;
  const bool there = (event.events & EPOLLHUP) == 0;
  if (there && !host_there_) {
    host_there_ = true;
    ++session_;
    splitter_.reset();
    out_ = "\n";  // ends whatever half a line an earlier session has left with the host
    listener_.opened();
  }
  read();
  if (!there && host_there_) host_left();
  flush();
}

void HostPort::host_left() {
  host_there_ = false;
  ++session_;
  if (!out_.empty()) spdlog::info("the host closed the port: {} bytes for it are dropped", out_.size());
  out_.clear();
  splitter_.reset();
}

void HostPort::read() {
  std::array<char, 8192> buffer{};
  for (;;) {
    const auto size = ::read(fd_, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;  // EAGAIN; or 0, as the driver says while no host is there
    const auto dropped = splitter_.dropped_lines();
    splitter_.push({buffer.data(), static_cast<std::size_t>(size)}, listener_.line);
    if (splitter_.dropped_lines() > dropped) spdlog::warn("a line from the host was too long and is dropped");
  }
}

void HostPort::send(const protocol::Envelope& envelope) {
  auto line = protocol::encode(envelope);
  if (!line) {
    spdlog::error("{}", line.error().message);
    const auto* response = std::get_if<protocol::Response>(&envelope);
    if (response == nullptr) return;
    line = protocol::encode(protocol::ErrorResponse{response->id, line.error()});
  }
  if (!host_there_) return;
  if (out_.size() + line->size() > max_kept_bytes) {
    spdlog::warn("the host does not read: a message of {} bytes is dropped", line->size());
    return;
  }
  out_ += *line;
  flush();
}

void HostPort::flush() {
  while (!out_.empty()) {
    const auto written = ::write(fd_, out_.data(), out_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the rest at the next edge
    out_.erase(0, static_cast<std::size_t>(written));
  }
}

}  // namespace rdmove::agent
