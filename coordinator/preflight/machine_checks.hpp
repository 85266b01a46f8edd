// Whether a host has the machine type and the CPU that a VM of a partner's runs on. Blocks: libvirt is asked.
#pragma once

#include <string>
#include <vector>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/preflight/finding.hpp"

namespace rdmove {

/// At the source: what to ask the destination for. Empty where the host does not say: then nothing is asked.
GuestMachine machineOf(Hypervisor& hypervisor, const std::string& live_xml);

/// At the destination. Codes: machine-type, cpu; and, a warning since libvirt starts such a guest without a look,
/// host-cpu.
std::vector<Finding> checkMachine(Hypervisor& hypervisor, const GuestMachine& guest, const std::string& host);

}  // namespace rdmove
