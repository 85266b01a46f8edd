#include "coordinator/preflight/machine_checks.hpp"

#include <fmt/format.h>

#include "coordinator/hypervisor/domain_xml.hpp"

namespace rdmove {

GuestMachine machineOf(Hypervisor& hypervisor, const std::string& live_xml) {
  auto guest = guestMachine(live_xml);
  if (!guest) return {};
  if (seesHostCpu(*guest)) {
    if (auto cpu = hypervisor.hostCpu()) guest->host_cpu = std::move(*cpu);
  }
  return std::move(*guest);
}

std::vector<Finding> checkMachine(Hypervisor& hypervisor, const GuestMachine& guest, const std::string& host) {
  if (guest.machine.empty()) return {};
  const auto verdict = hypervisor.judge(guest);
  if (!verdict) return {};  // libvirt looks again itself as the VM comes
  std::vector<Finding> findings;
  const auto add = [&](Severity severity, const char* code, std::string sentence, std::string remedy) {
    findings.push_back({severity, code, std::move(sentence), std::move(remedy), host});
  };
  if (!verdict->machine.empty()) {
    add(Severity::kError, "machine-type",
        fmt::format("{} cannot run a {} guest of type {}: {}.", host, guest.virt_type, guest.machine,
                    verdict->machine),
        "Bring QEMU and KVM there to what the source has, or choose another destination.");
  }
  if (!verdict->cpu.empty()) {
    add(Severity::kError, "cpu",
        fmt::format("The CPU of the VM is not to be had on {}: {}.", host, verdict->cpu),
        "Give the VM a CPU model that both hosts have (virsh hypervisor-cpu-baseline), and restart it.");
  }
  if (!verdict->host_cpu.empty()) {
    add(Severity::kWarning, "host-cpu",
        fmt::format("The VM sees its host's own CPU, and that of {} has less: {}.", host, verdict->host_cpu),
        "Nobody hinders it, and the guest may crash: give it a CPU model that both hosts have.");
  }
  return findings;
}

}  // namespace rdmove
