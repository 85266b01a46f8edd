#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "guestagent/agent/capture.hpp"

namespace rdmove::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view prefix = "captured-";

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

CaptureStore::CaptureStore(fs::path directory, std::string boot_id)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)) {}

fs::path CaptureStore::path_of(const protocol::MigrationId& migration) const {
  return directory_ / fmt::format("{}{}.json", prefix, migration.text());
}

Result<void> CaptureStore::save(const Capture& capture) {
  const auto path = path_of(capture.migration);
  auto temporary = path;
  temporary += ".new";
  // No fsync: the directory is memory, and what has to be survived is this process, not the kernel.
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written = fd >= 0 && write_all(fd, to_text(capture, boot_id_));
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  return protocol::fail(
      protocol::ErrorCode::InternalError,
      fmt::format("cannot keep the captured state in {}: {}", path.string(), std::strerror(why)));
}

void CaptureStore::remove(const protocol::MigrationId& migration) {
  std::error_code ignored;
  fs::remove(path_of(migration), ignored);
}

std::optional<Capture> CaptureStore::load() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(prefix) || entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    auto capture = parse_capture(std::string(std::istreambuf_iterator<char>(file), {}), boot_id_);
    if (capture) return *capture;
    spdlog::warn("file={} is not used: {}", entry.path().string(), capture.error().message);
  }
  return std::nullopt;
}

}  // namespace rdmove::agent
