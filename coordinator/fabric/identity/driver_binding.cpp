#include "coordinator/fabric/identity/driver_binding.hpp"

#include <fmt/format.h>

namespace rdmove::fabric {

std::string driverOf(const SysfsFiles& files, const std::string& pci) {
  return files.linkName(fmt::format("bus/pci/devices/{}/driver", pci));
}

bool isHostDriver(const std::string& driver) {
  return !driver.empty() && !driver.starts_with("vfio") && driver != "pci-stub";
}

namespace {

Result<void> bindingIs(const SysfsFiles& files, const std::string& pci, const std::string& wanted,
                       const std::string& attempted) {
  const std::string driver = driverOf(files, pci);
  if (driver == wanted) return {};
  return failure(ErrorCode::kConflict, attempted,
                 fmt::format("after that {} has it", driver.empty() ? "no driver" : driver), "See dmesg.");
}

}  // namespace

Result<void> unbindDriver(SysfsFiles& files, const std::string& pci, const std::string& driver) {
  const std::string attempted = fmt::format("take {} from {}", pci, driver);
  const std::string now = driverOf(files, pci);
  if (now.empty()) return {};
  if (now != driver) return bindingIs(files, pci, "", attempted);
  if (auto written = files.write(fmt::format("bus/pci/drivers/{}/unbind", driver), pci); !written)
    return written;
  return bindingIs(files, pci, "", attempted);
}

Result<void> bindDriver(SysfsFiles& files, const std::string& pci, const std::string& driver) {
  const std::string attempted = fmt::format("give {} to {}", pci, driver);
  if (driverOf(files, pci) == driver) return {};
  // Where VFs are not probed by themselves (sriov_drivers_autoprobe 0) the kernel binds only what is named
  // here.
  const std::string override = fmt::format("bus/pci/devices/{}/driver_override", pci);
  const bool named = files.exists(override) && files.write(override, driver);
  const auto written = files.write(fmt::format("bus/pci/drivers/{}/bind", driver), pci);
  if (named) (void)files.write(override, "\n");
  if (!written) return written;
  return bindingIs(files, pci, driver, attempted);
}

}  // namespace rdmove::fabric
