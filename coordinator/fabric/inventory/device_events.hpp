// What the kernel says about PCI functions, RDMA devices and network interfaces as it happens: uevents and
// rtnetlink's link messages. Hints, never the truth: what is, is read again. Internal to the fabric.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"

namespace rdmove::fabric {

struct DeviceEvent {
  std::string action;  ///< "add", "remove", "bind", "unbind", "change", "move"; "link": rtnetlink; "lost"
  std::string
      subsystem;     ///< "pci", "infiniband", "net"; empty when events were lost: anything may have changed
  std::string name;  ///< PCI address, RDMA device or interface
  bool operator==(const DeviceEvent&) const = default;
};

class DeviceEvents {
 public:
  virtual ~DeviceEvents() = default;  ///< no call comes after it
};

/// `heard` gets all that waited, at most 1024 at once (what is more counts as lost), on a thread of its own,
/// which sleeps in the kernel between events; the first call has none, and says that from now on nothing is
/// missed. kUnavailable when there is no socket to be had.
using HeardEvents = std::function<void(const std::vector<DeviceEvent>&)>;
Result<std::unique_ptr<DeviceEvents>> listenToDevices(HeardEvents heard);

/// A kernel's uevent, "add@/devices/…" and KEY=VALUE, each ended by a zero byte. Nullopt for other
/// subsystems.
std::optional<DeviceEvent> deviceEventOf(std::span<const char> message);

}  // namespace rdmove::fabric
