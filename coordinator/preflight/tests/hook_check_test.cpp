#include "coordinator/preflight/hook_check.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "coordinator/hook/mark.hpp"

namespace rdmove {
namespace {

class HookCheck : public testing::Test {
 protected:
  HookCheck() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-check-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    files_ = {directory_ + "/rdmove", directory_ + "/hook-called"};
  }
  ~HookCheck() override { std::filesystem::remove_all(directory_); }

  void install() {
    std::ofstream(files_.program) << "#!/bin/sh\n";
    ::chmod(files_.program.c_str(), 0755);
  }
  void calledBy(const ProcessMark& process) {
    std::ofstream(files_.mark) << process.pid << ' ' << process.started;
  }
  std::string code() const { return checkHook(files_, "hosta").code; }

  std::string directory_;
  HookFiles files_;
};

TEST_F(HookCheck, without_the_program_says_what_is_not_refused) {
  const Finding finding = checkHook(files_, "hosta");
  EXPECT_EQ(finding.code, "no-hook");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.host, "hosta");
}

TEST_F(HookCheck, a_program_that_nobody_has_called_needs_a_reload) {
  install();
  EXPECT_EQ(code(), "hook-not-called");
  EXPECT_NE(checkHook(files_, "hosta").remedy.find("systemctl reload"), std::string::npos);
}

TEST_F(HookCheck, called_by_the_libvirt_that_runs_is_well) {
  install();
  calledBy(*processMark(getpid()));
  EXPECT_EQ(code(), "hook");
}

TEST_F(HookCheck, called_by_one_that_has_ended_says_nothing_about_the_one_that_runs) {
  install();
  ProcessMark earlier = *processMark(getpid());
  ++earlier.started;  // the same pid, another process
  calledBy(earlier);
  EXPECT_EQ(code(), "hook-not-called");
}

}  // namespace
}  // namespace rdmove
