#include "coordinator/fabric/sysfs_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "coordinator/base/descriptor.hpp"

namespace rdmove::fabric {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = 64U << 10;

std::string reason(int error) {
  return std::generic_category().message(error);
}

class RealFiles : public SysfsFiles {
 public:
  explicit RealFiles(fs::path root) : root_(std::move(root)) {}

  Result<std::string> read(const std::string& path) const override {
    const Descriptor file(open((root_ / path).c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return failed("read", path, errno);
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() < kLargestFile) {
      const ssize_t got = ::read(file.get(), piece.data(), piece.size());
      if (got < 0) return failed("read", path, errno);
      if (got == 0) break;
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  Result<void> write(const std::string& path, const std::string& text) override {
    const Descriptor file(open((root_ / path).c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) return failed("write", path, errno);
    const ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0) return failed("write", path, errno);
    if (static_cast<std::size_t>(put) != text.size()) return failed("write", path, EIO);
    return {};
  }

  bool exists(const std::string& path) const override {
    std::error_code error;
    return fs::exists(root_ / path, error);
  }

  std::vector<std::string> list(const std::string& directory) const override {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(root_ / directory, error), end; !error && entry != end;
         entry.increment(error))
      names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string linkName(const std::string& link) const override {
    std::error_code error;
    const fs::path target = fs::read_symlink(root_ / link, error);
    return error ? std::string() : target.filename().string();
  }

 private:
  tl::unexpected<Error> failed(const char* verb, const std::string& path, int error) const {
    return failure(codeOfErrno(error), fmt::format("{} {}", verb, (root_ / path).string()), reason(error));
  }

  fs::path root_;
};

}  // namespace

ErrorCode codeOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return ErrorCode::kNotFound;
    case EINVAL:
    case EPERM:
    case EACCES:
    case ERANGE:
      return ErrorCode::kRefused;
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      return ErrorCode::kIncompatible;
    case EBUSY:
      return ErrorCode::kConflict;
    default:
      return ErrorCode::kUnavailable;
  }
}

std::unique_ptr<SysfsFiles> makeSysfsFiles(fs::path root) {
  return std::make_unique<RealFiles>(std::move(root));
}

}  // namespace rdmove::fabric
