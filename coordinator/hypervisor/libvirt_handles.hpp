// libvirt's objects as owned values, and its errors as ours. Private to the libvirt_*.cpp files.
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include <memory>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

using ConnectionRef = std::shared_ptr<virConnect>;

struct DomainFree {
  void operator()(virDomain* domain) const { virDomainFree(domain); }
};
using DomainRef = std::unique_ptr<virDomain, DomainFree>;

struct NodeDeviceFree {
  void operator()(virNodeDevice* device) const { virNodeDeviceFree(device); }
};
using NodeDeviceRef = std::unique_ptr<virNodeDevice, NodeDeviceFree>;

struct CFree {
  void operator()(void* memory) const;
};
using CText = std::unique_ptr<char, CFree>;

/// This thread's last libvirt error: its message as the cause, its code mapped, a remedy where one is known.
/// Take it before any other libvirt call, also before a handle is freed.
tl::unexpected<Error> libvirtFailure(std::string attempted);

int lastLibvirtCode();

Result<DomainRef> lookup(const ConnectionRef& connection, const DomainUuid& uuid,
                         const std::string& attempted);

}  // namespace rdmove
