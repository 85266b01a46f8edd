// The host's side of a live device element: what it hangs on. Internal to the fabric. Pure functions, any
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove::fabric {

struct DeviceSource {
  std::string kind;  ///< "interface" or "hostdev"
  std::optional<DeviceAlias> alias;
  std::optional<MacAddress> mac;
  std::optional<std::string> bridge;  ///< <source bridge=...>, also of a live interface of a libvirt network
  std::optional<std::string> pci;     ///< host address, "0000:3b:00.2"
};

Result<DeviceSource> readDeviceSource(const std::string& element);

struct DomainDevices {
  std::vector<DeviceSource> devices;  ///< interfaces and PCI hostdevs
  std::string metadata;               ///< the rdmove element, empty when there is none
};

/// At most 1 MiB.
Result<DomainDevices> readDomainDevices(const std::string& domain_xml);

}  // namespace rdmove::fabric
