#include "migration-tests/subnet/log_file.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rdmove::subnet {
namespace {

using Clock = std::chrono::steady_clock;

class Watch {
 public:
  explicit Watch(const std::filesystem::path& folder) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (fd_ < 0 || inotify_add_watch(fd_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
      throw std::runtime_error("cannot watch " + folder.string());
  }
  ~Watch() { close(fd_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool wait(std::chrono::milliseconds limit) const {
    pollfd ready{fd_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(limit.count())) <= 0) return false;
    alignas(inotify_event) char events[4096];
    while (read(fd_, events, sizeof events) > 0) {
    }
    return true;
  }

 private:
  int fd_;
};

}  // namespace

std::size_t LogFile::end() const {
  std::error_code none;
  const auto size = std::filesystem::file_size(file_, none);
  return none ? 0 : static_cast<std::size_t>(size);
}

std::string LogFile::since(std::size_t from) const {
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(from));
  std::ostringstream text;
  if (in) text << in.rdbuf();
  return text.str();
}

std::string LogFile::wait_for(const std::string& text, std::size_t from,
                              std::chrono::milliseconds limit) const {
  const auto deadline = Clock::now() + limit;
  const Watch watch(file_.parent_path());
  while (true) {
    const std::string all = since(from);
    if (const auto at = all.find(text); at != std::string::npos) {
      const auto begin = all.rfind('\n', at) + 1;  // npos + 1 is 0
      if (const auto newline = all.find('\n', at); newline != std::string::npos)
        return all.substr(begin, newline - begin);
    }
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (rest.count() <= 0 || !watch.wait(rest)) {
      throw std::runtime_error("\"" + text + "\" did not come in " + file_.filename().string() +
                               "; it ends: " + all.substr(all.size() > 2000 ? all.size() - 2000 : 0));
    }
  }
}

}  // namespace rdmove::subnet
