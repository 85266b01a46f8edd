#include "coordinator/hypervisor/domain_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "coordinator/hypervisor/device_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/hypervisor/xml_document.hpp"

namespace rdmove {
namespace {

bool moves(const pugi::xml_node& device) {
  return std::strcmp(device.name(), "interface") == 0 || std::strcmp(device.name(), "hostdev") == 0;
}

/// The <interface> or <hostdev> with this alias, or an empty node.
Result<pugi::xml_node> deviceNode(const pugi::xml_node& domain, const DeviceAlias& alias) {
  const std::string attempted = "find device " + alias.str() + " in the domain's XML";
  if (alias.empty()) return failure(ErrorCode::kBadInput, attempted, "the alias is empty");
  pugi::xml_node found;
  for (const pugi::xml_node& device : domain.child("devices").children()) {
    if (aliasOf(device) != alias.str()) continue;
    if (!moves(device)) {
      return failure(ErrorCode::kBadInput, attempted,
                     fmt::format("it is a <{}>, not an <interface> or <hostdev>", device.name()));
    }
    if (found) return failure(ErrorCode::kBadInput, attempted, "two devices have this alias");
    found = device;
  }
  return found;
}

/// The namespace of an element's name, as the attributes of it and of those around it bind its prefix.
std::string_view namespaceOf(pugi::xml_node node) {
  const std::string_view name = node.name();
  const std::size_t colon = name.find(':');
  const std::string binding =
      colon == std::string_view::npos ? "xmlns" : "xmlns:" + std::string(name.substr(0, colon));
  for (; node; node = node.parent()) {
    if (const pugi::xml_attribute bound = node.attribute(binding.c_str())) return bound.value();
  }
  return {};
}

/// libvirt writes sizes in KiB, and says so.
std::optional<std::uint64_t> kibOf(const pugi::xml_node& size) {
  const std::string unit = size.attribute("unit").as_string("KiB");
  if (!size || unit != "KiB") return std::nullopt;
  return size.text().as_ullong();
}

bool hasVfSource(const pugi::xml_node& device) {
  const char* type = device.attribute("type").value();
  if (std::strcmp(device.name(), "interface") == 0) return std::strcmp(type, "hostdev") == 0;
  return std::strcmp(device.name(), "hostdev") == 0 && std::strcmp(type, "pci") == 0 &&
         std::strcmp(device.attribute("mode").value(), "subsystem") == 0;
}

}  // namespace

Result<GuestDevice> findDevice(const std::string& domain_xml, const DeviceAlias& alias) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  const auto node = deviceNode((*document)->document_element(), alias);
  if (!node) return tl::unexpected(node.error());
  if (!*node) {
    return failure(
        ErrorCode::kNotFound, "find device " + alias.str() + " in the domain's XML",
        "no device has this alias",
        fmt::format("Add <alias name='{}'/> to the device, or correct the rdmove metadata.", alias.str()));
  }
  auto mac = macOf(*node);
  if (!mac) return tl::unexpected(mac.error());
  auto pci = guestPciAddress(*node);
  if (!pci) return tl::unexpected(pci.error());
  const bool teamed = std::strcmp(node->child("teaming").attribute("type").value(), "transient") == 0;
  return GuestDevice{alias, printXml(*node), node->name(), *mac, std::move(*pci), teamed};
}

Result<std::string> replaceDevice(const std::string& domain_xml, const DeviceAlias& alias,
                                  const std::string& element) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  const auto device = parseXml(element, "device element", "interface hostdev");
  if (!device) return tl::unexpected(device.error());
  const std::string attempted = "put device " + alias.str() + " into the domain's XML";
  if (const std::string said = aliasOf((*device)->document_element()); said != alias.str()) {
    return failure(ErrorCode::kBadInput, attempted, "the new element has alias '" + said + "'");
  }
  const pugi::xml_node domain = (*document)->document_element();
  const auto old = deviceNode(domain, alias);
  if (!old) return tl::unexpected(old.error());
  pugi::xml_node devices = domain.child("devices");
  if (!devices) return failure(ErrorCode::kBadInput, attempted, "the domain has no <devices>");
  if (*old) {
    devices.insert_copy_after((*device)->document_element(), *old);
    devices.remove_child(*old);
  } else {
    devices.append_copy((*device)->document_element());
  }
  return printXml(domain);
}

Result<IncomingDomain> incomingDomain(const std::string& domain_xml) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  const pugi::xml_node domain = (*document)->document_element();
  IncomingDomain incoming{DomainUuid(domain.child("uuid").text().get()), false};
  constexpr std::size_t kUuidLength = 36;
  if (incoming.uuid.str().size() != kUuidLength)
    return failure(ErrorCode::kBadInput, "read domain XML", "it has no UUID");
  for (const pugi::xml_node& element : domain.child("metadata").children()) {
    if (localName(element.name()) != "rdma" || namespaceOf(element) != kMetadataUri) continue;
    for (const pugi::xml_node& vf : element.children())
      incoming.declares_vfs = incoming.declares_vfs || localName(vf.name()) == "vf";
  }
  return incoming;
}

Result<LockableMemory> lockableMemory(const std::string& domain_xml) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  const pugi::xml_node domain = (*document)->document_element();
  const auto memory = kibOf(domain.child("memory"));
  if (!memory) return failure(ErrorCode::kBadInput, "read the domain's memory", "it is not in KiB");
  return LockableMemory{*memory, kibOf(domain.child("memtune").child("hard_limit"))};
}

Result<DomainSize> domainSize(const std::string& domain_xml) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  const pugi::xml_node domain = (*document)->document_element();
  const auto memory = kibOf(domain.child("memory"));
  if (!memory) return failure(ErrorCode::kBadInput, "read the domain's memory", "it is not in KiB");
  const pugi::xml_node vcpu = domain.child("vcpu");
  const unsigned most = vcpu ? vcpu.text().as_uint(1) : 1;
  return DomainSize{*memory, vcpu.attribute("current").as_uint(most)};
}

Result<GuestMachine> guestMachine(const std::string& domain_xml) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  const pugi::xml_node domain = (*document)->document_element();
  const pugi::xml_node type = domain.child("os").child("type");
  const pugi::xml_node cpu = domain.child("cpu");
  return GuestMachine{type.attribute("arch").as_string(), domain.attribute("type").as_string(),
                      type.attribute("machine").as_string(), cpu ? printXml(cpu) : std::string(), ""};
}

bool seesHostCpu(const GuestMachine& guest) {
  const auto document = parseXml(guest.cpu, "CPU", "cpu");
  if (!document) return false;
  const std::string_view mode = (*document)->document_element().attribute("mode").as_string();
  return mode == "host-passthrough" || mode == "maximum";
}

Result<std::string> hostCpuOf(const std::string& capabilities_xml) {
  const auto document = parseXml(capabilities_xml, "capabilities", "capabilities");
  if (!document) return tl::unexpected(document.error());
  const pugi::xml_node cpu = (*document)->document_element().child("host").child("cpu");
  if (!cpu) return failure(ErrorCode::kNotFound, "look at the host's CPU", "libvirt does not know it");
  return printXml(cpu);
}

Result<std::vector<std::string>> claimedVfs(const std::string& domain_xml) {
  const auto document = parseXml(domain_xml, "domain XML", "domain");
  if (!document) return tl::unexpected(document.error());
  std::vector<std::string> claimed;
  for (const pugi::xml_node& device : (*document)->document_element().child("devices").children()) {
    if (!hasVfSource(device)) continue;
    const pugi::xml_node address = device.child("source").child("address");
    if (!address) continue;
    auto name = readPciAddress(address, "source of device " + aliasOf(device));
    if (!name) return tl::unexpected(name.error());
    if (std::find(claimed.begin(), claimed.end(), *name) == claimed.end())
      claimed.push_back(std::move(*name));
  }
  return claimed;
}

}  // namespace rdmove
