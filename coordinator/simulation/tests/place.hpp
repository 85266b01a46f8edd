// A directory for journals, on a tmpfs where there is one; gone with this. For tests.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace rdmove::simulation {

class Place {
 public:
  Place() { std::filesystem::create_directories(path_); }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  static std::filesystem::path base() {
    return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
  }
  std::filesystem::path path_ = base() / fmt::format("rdmove-simulation-test-{}", getpid());
};

}  // namespace rdmove::simulation
