// Whether a guest's machine type and CPU are to be had on this host, in libvirt's own judgement.
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/libvirt_driver.hpp"

namespace rdmove {
namespace {

/// libvirt's last message, if its error is one of these: any other says nothing about the guest.
std::string messageIf(std::initializer_list<int> codes) {
  const virError* error = virGetLastError();
  if (error == nullptr || error->message == nullptr) return "";
  for (const int code : codes) {
    if (error->code == code) return error->message;
  }
  return "";
}

const char* orNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

Result<std::string> LibvirtDriver::hostCpu() {
  auto connection = connection_.shared();
  if (!connection) return tl::unexpected(connection.error());
  const CText capabilities(virConnectGetCapabilities(connection->get()));
  if (!capabilities) return libvirtFailure("look at the host's CPU");
  return hostCpuOf(capabilities.get());
}

Result<MachineVerdict> LibvirtDriver::judge(const GuestMachine& guest) {
  // The first question about a machine type makes libvirt ask QEMU, which takes a second.
  auto connection = connection_.forCall();
  if (!connection) return tl::unexpected(connection.error());
  MachineVerdict verdict;
  const CText known(virConnectGetDomainCapabilities(connection->get(), nullptr, orNull(guest.arch),
                                                    orNull(guest.machine), orNull(guest.virt_type), 0));
  // libvirt 9 calls an unknown machine type, and KVM where there is none, an invalid argument.
  if (!known) verdict.machine = messageIf({VIR_ERR_INVALID_ARG, VIR_ERR_CONFIG_UNSUPPORTED});
  if (!guest.cpu.empty() && !seesHostCpu(guest) && verdict.machine.empty() &&
      virConnectCompareHypervisorCPU(connection->get(), nullptr, orNull(guest.arch), orNull(guest.machine),
                                     orNull(guest.virt_type), guest.cpu.c_str(),
                                     VIR_CONNECT_COMPARE_CPU_FAIL_INCOMPATIBLE) < 0) {
    verdict.cpu = messageIf({VIR_ERR_CPU_INCOMPATIBLE});
  }
  if (!guest.host_cpu.empty() && virConnectCompareCPU(connection->get(), guest.host_cpu.c_str(),
                                                      VIR_CONNECT_COMPARE_CPU_FAIL_INCOMPATIBLE) < 0) {
    verdict.host_cpu = messageIf({VIR_ERR_CPU_INCOMPATIBLE});
  }
  return verdict;
}

}  // namespace rdmove
