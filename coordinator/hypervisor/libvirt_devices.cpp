// Devices of a running domain: asking for their removal, attaching them.
#include <fmt/format.h>
#include <libvirt/libvirt-qemu.h>

#include <algorithm>

#include "coordinator/hypervisor/device_xml.hpp"
#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/libvirt_driver.hpp"
#include "coordinator/hypervisor/xml_document.hpp"

namespace rdmove {
namespace {

Result<DeviceAlias> aliasOfElement(const std::string& element) {
  const auto document = parseXml(element, "device element", "interface hostdev");
  if (!document) return tl::unexpected(document.error());
  const DeviceAlias alias(aliasOf((*document)->document_element()));
  if (!alias.str().starts_with("ua-")) {
    return failure(ErrorCode::kBadInput, "attach a device", "it has no user alias (ua-...)");
  }
  return alias;
}

/// After a failed attach: there already (by an earlier try of ours), another one there, or the failure
/// stands.
Result<void> presentOr(virDomainPtr domain, const DeviceAlias& alias, const std::string& element,
                       tl::unexpected<Error> error) {
  const CText xml(virDomainGetXMLDesc(domain, 0));
  if (!xml) return error;
  const auto present = findDevice(xml.get(), alias);
  if (!present) return error;
  if (sameForGuest(present->element, element) && sameOnHost(present->element, element)) return {};
  error.value().code = ErrorCode::kRefused;
  error.value().remedy = "The domain has another device with alias " + alias.str() + "; detach it first.";
  return error;
}

/// A libvirtd that was killed in the middle of an attach has left a half in QEMU that it does not know of: its next
/// try finds the name taken, for ever. Both halves are taken out behind its back; what is not there is an answer,
/// too. The device's half ends when the guest lets it go, so the next try of the caller may still fail.
void removeOrphan(virDomainPtr domain, const DeviceAlias& alias) {
  for (const std::string& command :
       {fmt::format(R"({{"execute":"device_del","arguments":{{"id":"{}"}}}})", alias.str()),
        fmt::format(R"({{"execute":"netdev_del","arguments":{{"id":"host{}"}}}})", alias.str())}) {
    char* answer = nullptr;
    (void)virDomainQemuMonitorCommand(domain, command.c_str(), &answer, 0);
    const CText freed(answer);
  }
}

/// QEMU's words, never translated.
bool nameIsTaken(const Error& error) {
  return error.cause.find("Duplicate ID") != std::string::npos ||
         error.cause.find("Duplicate device ID") != std::string::npos;
}

/// libvirt's name for it: "pci_0000_3b_00_2".
std::string nodeDeviceName(std::string pci) {
  std::replace_if(
      pci.begin(), pci.end(), [](char c) { return c == ':' || c == '.'; }, '_');
  return "pci_" + pci;
}

}  // namespace

Result<void> LibvirtDriver::detach(const DomainUuid& uuid, const DeviceAlias& alias) {
  const std::string attempted = "ask for the removal of device " + alias.str() + " from " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainDetachDeviceAlias(target->domain.get(), alias.str().c_str(), VIR_DOMAIN_AFFECT_LIVE) == 0)
    return {};
  auto error = libvirtFailure(attempted);
  // QEMU's words, never translated: it was asked before and the guest has not answered yet.
  if (error.value().cause.find("already in the process of unplug") != std::string::npos) return {};
  if (const CText xml(virDomainGetXMLDesc(target->domain.get(), 0)); xml) {
    const auto present = findDevice(xml.get(), alias);
    if (!present && present.error().code == ErrorCode::kNotFound) error.value().code = ErrorCode::kNotFound;
  }
  return error;
}

Result<void> LibvirtDriver::attach(const DomainUuid& uuid, const std::string& device_xml) {
  auto alias = aliasOfElement(device_xml);
  if (!alias) return tl::unexpected(alias.error());
  const std::string attempted = "attach device " + alias->str() + " to " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainAttachDeviceFlags(target->domain.get(), device_xml.c_str(), VIR_DOMAIN_AFFECT_LIVE) == 0)
    return {};
  auto failed = libvirtFailure(attempted);
  const bool orphaned = nameIsTaken(failed.value());
  auto result = presentOr(target->domain.get(), *alias, device_xml, std::move(failed));
  if (result || !orphaned || result.error().code == ErrorCode::kRefused) return result;
  removeOrphan(target->domain.get(), *alias);
  if (virDomainAttachDeviceFlags(target->domain.get(), device_xml.c_str(), VIR_DOMAIN_AFFECT_LIVE) == 0)
    return {};
  return presentOr(target->domain.get(), *alias, device_xml, libvirtFailure(attempted));
}

Result<void> LibvirtDriver::withNodeDevice(const std::string& pci, const std::string& attempted,
                                           int (*change)(virNodeDevicePtr)) {
  auto connection = connection_.forCall();
  if (!connection) return tl::unexpected(connection.error());
  const NodeDeviceRef device(virNodeDeviceLookupByName(connection->get(), nodeDeviceName(pci).c_str()));
  if (!device || change(device.get()) != 0) return libvirtFailure(attempted);
  return {};
}

Result<void> LibvirtDriver::takeFromHost(const std::string& pci) {
  return withNodeDevice(pci, "take " + pci + " from the host's driver",
                        [](virNodeDevicePtr device) { return virNodeDeviceDetachFlags(device, "vfio", 0); });
}

Result<void> LibvirtDriver::giveToHost(const std::string& pci) {
  return withNodeDevice(pci, "give " + pci + " back to the host's driver", virNodeDeviceReAttach);
}

}  // namespace rdmove
