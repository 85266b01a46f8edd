// Processes by reading /proc/PID/fd. Blocks on nothing: links are read, never followed. Loop thread.
#pragma once

#include <filesystem>

#include "guestagent/agent/processes.hpp"
#include "guestagent/agent/rdma_sysfs.hpp"

namespace rdmove::agent {

class ProcScan final : public Processes {
 public:
  ProcScan(std::filesystem::path proc, const RdmaSysfs& sysfs) : proc_(std::move(proc)), sysfs_(sysfs) {}

  std::vector<protocol::Holdout> holding(const std::vector<std::string>& rdma_names) override;
  std::vector<protocol::Holdout> holding_a_channel() override;

 private:
  template <class DeviceOf>
  std::vector<protocol::Holdout> scan(DeviceOf device_of);

  std::filesystem::path proc_;
  const RdmaSysfs& sysfs_;
};

}  // namespace rdmove::agent
