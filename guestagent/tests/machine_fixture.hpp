// A machine of its own for the programs that manage interfaces: own network, host name, /run, /etc and /var/lib, so that
// they find their files where they have them in a guest and change nothing here. /sys is read-only there: they take that
// for a container, and do not wait for a udev that none has.
//
// Their packages may be unpacked somewhere instead of installed: RDMOVE_MANAGERS names the folder, and what is in it
// lies over /usr and /etc (migration-tests/managers).
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "guestagent/tests/rtnetlink_fixture.hpp"

namespace rdmove::agent::test {

/// Runs from here on; ends with this. What it says is in `log`.
class Program {
 public:
  Program(std::vector<std::string> words, const std::filesystem::path& log) {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (std::freopen(log.c_str(), "w", stdout) == nullptr || ::dup2(1, 2) < 0) ::_exit(126);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~Program() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
};

class MachineTest : public RtnetlinkTest {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0)
      GTEST_SKIP() << "no mount namespace (run as root): " << std::strerror(errno);
    RtnetlinkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0) << std::strerror(errno);
    mount("tmpfs", "/run");
    mount("tmpfs", "/var/lib");
    mount("sysfs", "/sys", {}, MS_RDONLY);
    const char* unpacked = std::getenv("RDMOVE_MANAGERS");
    const std::string over = unpacked != nullptr ? unpacked : "";
    if (!over.empty()) mount("overlay", "/usr", "lowerdir=" + over + "/usr:/usr");
    std::filesystem::create_directories("/run/own/etc");
    std::filesystem::create_directories("/run/own/work");
    mount("overlay", "/etc",
          fmt::format("lowerdir={}/etc,upperdir=/run/own/etc,workdir=/run/own/work",
                      over.empty() ? "" : over + "/etc:"));
  }
  void TearDown() override {
    // The next test's machine is made of this one, and the kernel stacks only two overlays.
    for (auto where = mounted_.rbegin(); where != mounted_.rend(); ++where) ::umount2(where->c_str(), MNT_DETACH);
    if (!HasFailure()) return;
    for (const auto& file : std::filesystem::directory_iterator(logs.path))
      std::cout << file.path().filename().string() << " said:\n" << std::ifstream(file.path()).rdbuf() << '\n';
  }

  static bool is_there(const char* program) { return ::access(program, X_OK) == 0; }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms(0600));  // NetworkManager: nobody else may read it
  }
  [[nodiscard]] std::filesystem::path log_of(const std::string& name) const { return logs.path / name; }

  TemporaryFolder logs;  // not below what is the machine's own

 private:
  void mount(const char* type, const char* where, const std::string& options = {}, unsigned long flags = 0) {
    ASSERT_EQ(::mount(type, where, type, flags, options.empty() ? nullptr : options.c_str()), 0)
        << type << " on " << where << ": " << std::strerror(errno);
    mounted_.emplace_back(where);
  }

  std::vector<std::string> mounted_;
};

}  // namespace rdmove::agent::test
