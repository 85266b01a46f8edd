// What an administrator has set on an RDMA device for its applications, and what a device that comes back has
// lost: the RoCE mode and type of service that the RDMA CM takes by default, and the mlx5 vendor driver's
// traffic class. Implemented by RdmaSettingFiles; faked in tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rdmove::agent {

struct RdmaSetting {
  std::string port;   // "1"
  std::string name;   // "default_roce_mode", "default_roce_tos", "traffic_class"
  std::string value;  // "RoCE v2", "104"
  auto operator<=>(const RdmaSetting&) const = default;
};

class RdmaSettings {
 public:
  virtual ~RdmaSettings() = default;

  virtual std::vector<RdmaSetting> capture(const std::string& rdma) = 0;
  /// Writes what differs. Returns what could not be put back.
  virtual std::vector<std::string> put_back(const std::string& rdma,
                                            const std::vector<RdmaSetting>& settings) = 0;
};

/// kernel/config/rdma_cm/DEVICE/ports/N/default_roce_{mode,tos} and
/// class/infiniband/DEVICE/tc/N/traffic_class under /sys. Where the kernel has neither there is nothing to
/// keep.
class RdmaSettingFiles final : public RdmaSettings {
 public:
  explicit RdmaSettingFiles(std::filesystem::path sys) : sys_(std::move(sys)) {}

  std::vector<RdmaSetting> capture(const std::string& rdma) override;
  std::vector<std::string> put_back(const std::string& rdma,
                                    const std::vector<RdmaSetting>& settings) override;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& rdma, const RdmaSetting& setting) const;

  std::filesystem::path sys_;
};

}  // namespace rdmove::agent
