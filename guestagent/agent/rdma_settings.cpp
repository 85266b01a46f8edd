#include "guestagent/agent/rdma_settings.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace rdmove::agent {
namespace {

namespace fs = std::filesystem;
constexpr const char* traffic_class = "traffic_class";
constexpr std::size_t most_ports = 8;

std::string read_value(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  // The vendor's driver says "Global tclass=104" and takes "104".
  if (const auto at = line.find("tclass="); at != std::string::npos) line.erase(0, at + 7);
  line.resize(std::min<std::size_t>(line.size(), 64));
  return line;
}

int write_value(const fs::path& path, const std::string& value) {
  errno = 0;
  std::ofstream file(path);
  file << value << std::flush;
  if (file) return 0;
  return errno != 0 ? errno : EIO;
}

std::vector<std::string> ports_in(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end && out.size() < most_ports;
       entry.increment(error)) {
    out.push_back(entry->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The RDMA CM shows a device there only while somebody has made its folder, and keeps the settings without
// it. So one that is not ours to keep is made for the look and taken away again.
class ConfigFolder {
 public:
  explicit ConfigFolder(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    if (fs::exists(path_.parent_path(), error)) made_ = fs::create_directory(path_, error);
  }
  ~ConfigFolder() {
    std::error_code ignored;
    if (made_) fs::remove(path_, ignored);
  }
  ConfigFolder(const ConfigFolder&) = delete;
  ConfigFolder& operator=(const ConfigFolder&) = delete;

 private:
  fs::path path_;
  bool made_ = false;
};

fs::path config_of(const fs::path& sys, const std::string& rdma) {
  return sys / "kernel/config/rdma_cm" / rdma;
}

}  // namespace

fs::path RdmaSettingFiles::path_of(const std::string& rdma, const RdmaSetting& setting) const {
  return setting.name == traffic_class
             ? sys_ / "class/infiniband" / rdma / "tc" / setting.port / traffic_class
             : config_of(sys_, rdma) / "ports" / setting.port / setting.name;
}

std::vector<RdmaSetting> RdmaSettingFiles::capture(const std::string& rdma) {
  std::vector<RdmaSetting> out;
  const ConfigFolder folder(config_of(sys_, rdma));
  const auto add = [&](const std::string& port, const char* name) {
    RdmaSetting setting{port, name, {}};
    setting.value = read_value(path_of(rdma, setting));
    if (!setting.value.empty()) out.push_back(std::move(setting));
  };
  for (const auto& port : ports_in(config_of(sys_, rdma) / "ports")) {
    add(port, "default_roce_mode");
    add(port, "default_roce_tos");
  }
  for (const auto& port : ports_in(sys_ / "class/infiniband" / rdma / "tc")) add(port, traffic_class);
  return out;
}

std::vector<std::string> RdmaSettingFiles::put_back(const std::string& rdma,
                                                    const std::vector<RdmaSetting>& settings) {
  std::vector<std::string> failed;
  if (settings.empty()) return failed;
  const ConfigFolder folder(config_of(sys_, rdma));
  for (const auto& setting : settings) {
    const auto path = path_of(rdma, setting);
    if (read_value(path) == setting.value) continue;
    if (const int error = write_value(path, setting.value); error != 0) {
      failed.push_back(fmt::format("{} {} of {} port {}: {}", setting.name, setting.value, rdma, setting.port,
                                   std::strerror(error)));
    }
  }
  return failed;
}

}  // namespace rdmove::agent
