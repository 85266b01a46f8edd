#include "coordinator/hook/mark.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rdmove {
namespace {

class Mark : public testing::Test {
 protected:
  Mark() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-mark-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    std::getline(std::ifstream("/proc/self/comm"), own_name_);
  }
  ~Mark() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  std::string own_name_;
};

TEST_F(Mark, names_the_process_that_called) {
  const std::string file = directory_ + "/not/there/yet";
  markCall(file, getpid(), {"libvirtd", own_name_});
  const auto mark = readMark(file);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->pid, getpid());
  EXPECT_EQ(mark, processMark(getpid()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_ + "/not/there"), {}), 1);
}

TEST_F(Mark, is_not_made_by_somebody_else) {
  markCall(directory_ + "/mark", getpid(), {"libvirtd"});
  EXPECT_FALSE(readMark(directory_ + "/mark"));
}

TEST_F(Mark, of_a_process_that_has_ended_fits_none) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto mark = processMark(child);
  EXPECT_TRUE(mark);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(processMark(child));
}

TEST_F(Mark, that_is_no_mark_is_none) {
  std::ofstream(directory_ + "/mark") << "rubbish";
  EXPECT_FALSE(readMark(directory_ + "/mark"));
}

}  // namespace
}  // namespace rdmove
