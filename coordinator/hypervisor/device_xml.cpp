#include "coordinator/hypervisor/device_xml.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <initializer_list>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/xml_document.hpp"

namespace rdmove {
namespace {

struct PciAddress {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
};

/// As libvirt reads numbers: hexadecimal after 0x, else decimal.
std::optional<unsigned> number(std::string_view text, unsigned max) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

std::optional<PciAddress> parsePciName(std::string_view text) {
  if (text.size() != 12 || text[4] != ':' || text[7] != ':' || text[10] != '.') return std::nullopt;
  const auto hex = [&](std::size_t at, std::size_t length) {
    return number("0x" + std::string(text.substr(at, length)), 0xffff);
  };
  const auto domain = hex(0, 4), bus = hex(5, 2), slot = hex(8, 2), function = hex(11, 1);
  if (!domain || !bus || !slot || !function || *slot > 0x1f || *function > 7) return std::nullopt;
  return PciAddress{*domain, *bus, *slot, *function};
}

bool listed(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view each : names) {
    if (name == each) return true;
  }
  return false;
}

/// Keeps of a <driver> what the guest can see (virtio features and queues), not the host's backend.
void keepGuestDriver(pugi::xml_node driver) {
  for (const char* host_only : {"name", "txmode", "ioeventfd"}) driver.remove_attribute(host_only);
  if (!driver.first_attribute() && !driver.first_child()) driver.parent().remove_child(driver);
}

/// Children that say what the device is to the guest, or what its owner asked for wherever it runs.
bool travels(std::string_view child) {
  return listed(child, {"mac", "model", "alias", "address", "rom", "mtu", "driver", "acpi", "boot", "teaming",
                        "link", "bandwidth", "filterref", "port", "coalesce", "virtualport"});
}

void makePortable(pugi::xml_node device) {
  for (pugi::xml_node child = device.first_child(); child;) {
    const pugi::xml_node next = child.next_sibling();
    const std::string_view name = child.name();
    const bool openvswitch =
        name == "virtualport" && std::strcmp(child.attribute("type").value(), "openvswitch") == 0;
    if (child.type() != pugi::node_element || !travels(name) || (name == "virtualport" && !openvswitch)) {
      device.remove_child(child);
    } else if (name == "driver") {
      keepGuestDriver(child);
    } else if (name == "rom") {
      child.remove_attribute("file");  // a path of the host it comes from, and of a partner's choosing
    }
    child = next;
  }
  for (pugi::xml_attribute attribute = device.first_attribute(); attribute;) {
    const pugi::xml_attribute next = attribute.next_attribute();
    if (!listed(attribute.name(), {"type", "mode", "trustGuestRxFilters"}))
      device.remove_attribute(attribute);
    attribute = next;
  }
}

void setAttribute(pugi::xml_node node, const char* name, const std::string& value) {
  pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) attribute = node.append_attribute(name);
  attribute.set_value(value.c_str());
}

Result<std::unique_ptr<pugi::xml_document>> portableDocument(const std::string& element) {
  auto document = parseXml(element, "device element", "interface hostdev");
  if (!document) return document;
  const pugi::xml_node device = (*document)->document_element();
  if (aliasOf(device).empty()) {
    return failure(ErrorCode::kBadInput, "read device element", "it has no <alias name='ua-...'/>",
                   "Give the device a user alias, e.g. with virsh edit.");
  }
  if (const auto mac = macOf(device); !mac) return tl::unexpected(mac.error());
  if (const auto address = guestPciAddress(device); !address) return tl::unexpected(address.error());
  makePortable(device);
  return document;
}

void writeAddress(pugi::xml_node source, const PciAddress& pci, bool with_type) {
  pugi::xml_node address = source.append_child("address");
  if (with_type) setAttribute(address, "type", "pci");
  setAttribute(address, "domain", fmt::format("0x{:04x}", pci.domain));
  setAttribute(address, "bus", fmt::format("0x{:02x}", pci.bus));
  setAttribute(address, "slot", fmt::format("0x{:02x}", pci.slot));
  setAttribute(address, "function", fmt::format("0x{:x}", pci.function));
}

std::string modelOf(const pugi::xml_node& device) {
  return device.child("model").attribute("type").value();
}

}  // namespace

std::string aliasOf(const pugi::xml_node& device) {
  return device.child("alias").attribute("name").value();
}

Result<std::string> readPciAddress(const pugi::xml_node& address, const std::string& what) {
  const auto field = [&](const char* name, unsigned max) -> Result<unsigned> {
    const pugi::xml_attribute attribute = address.attribute(name);
    if (!attribute && std::strcmp(name, "domain") == 0) return 0;
    if (const auto value = number(attribute.value(), max)) return *value;
    return failure(ErrorCode::kBadInput, "read " + what,
                   fmt::format("attribute '{}' of its PCI address is '{}'", name, attribute.value()));
  };
  const auto domain = field("domain", 0xffff), bus = field("bus", 0xff), slot = field("slot", 0x1f),
             function = field("function", 7);
  for (const auto* each : {&domain, &bus, &slot, &function}) {
    if (!*each) return tl::unexpected(each->error());
  }
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *slot, *function);
}

Result<std::optional<std::string>> guestPciAddress(const pugi::xml_node& device) {
  const pugi::xml_node address = device.find_child_by_attribute("address", "type", "pci");
  if (!address || !address.attribute("slot")) return std::nullopt;
  auto text = readPciAddress(address, "guest address of device " + aliasOf(device));
  if (!text) return tl::unexpected(text.error());
  return std::optional<std::string>(*text);
}

Result<std::optional<MacAddress>> macOf(const pugi::xml_node& device) {
  const pugi::xml_attribute address = device.child("mac").attribute("address");
  if (!address) return std::nullopt;
  const auto mac = MacAddress::parse(address.value());
  if (mac) return mac;
  return failure(ErrorCode::kBadInput, "read MAC of device " + aliasOf(device),
                 fmt::format("attribute 'address' is '{}', not like 52:54:00:12:34:56", address.value()));
}

Result<std::string> portableDevice(const std::string& device_element) {
  auto document = portableDocument(device_element);
  if (!document) return tl::unexpected(document.error());
  return printXml((*document)->document_element());
}

Result<std::string> newDevice(const VfDeclaration& declaration, bool infiniband) {
  pugi::xml_document document;
  pugi::xml_node device = document.append_child(infiniband ? "hostdev" : "interface");
  if (!infiniband) {
    if (!declaration.identity.mac) {
      return failure(ErrorCode::kBadInput, "make the device " + declaration.alias.str(),
                     "the metadata does not say its MAC", "Write it there with rdmove define --vf ...,mac=MAC.");
    }
    setAttribute(device.append_child("mac"), "address", declaration.identity.mac->str());
    setAttribute(device.append_child("model"), "type", "virtio");
  }
  setAttribute(device.append_child("alias"), "name", declaration.alias.str());
  return portableDevice(printXml(device));
}

Result<std::string> bindToBridge(const std::string& portable, const std::string& bridge) {
  auto document = portableDocument(portable);
  if (!document) return tl::unexpected(document.error());
  const std::string attempted = "bind device to bridge '" + bridge + "'";
  pugi::xml_node device = (*document)->document_element();
  if (std::strcmp(device.name(), "interface") != 0) {
    return failure(ErrorCode::kBadInput, attempted, "a <hostdev> cannot be on a bridge",
                   "Use the same kind of pool on both hosts.");
  }
  if (bridge.empty() || bridge.size() > 15 || bridge.find_first_of("/: \t\n") != std::string::npos) {
    return failure(ErrorCode::kBadInput, attempted, "not the name of a network interface");
  }
  setAttribute(device, "type", "bridge");
  setAttribute(device.prepend_child("source"), "bridge", bridge);
  return printXml(device);
}

Result<std::string> bindToVf(const std::string& portable, const std::string& pci_address,
                             std::optional<int> vlan) {
  auto document = portableDocument(portable);
  if (!document) return tl::unexpected(document.error());
  const std::string attempted = "bind device to VF '" + pci_address + "'";
  const auto pci = parsePciName(pci_address);
  if (!pci) return failure(ErrorCode::kBadInput, attempted, "not a PCI address like 0000:3b:00.2");
  if (vlan && (*vlan < 1 || *vlan > 4094)) {
    return failure(ErrorCode::kBadInput, attempted, fmt::format("VLAN {} is not 1..4094", *vlan));
  }
  pugi::xml_node device = (*document)->document_element();
  const bool interface = std::strcmp(device.name(), "interface") == 0;
  if (!interface) setAttribute(device, "mode", "subsystem");
  setAttribute(device, "type", interface ? "hostdev" : "pci");
  setAttribute(device, "managed", "no");
  // libvirt refuses these on a hostdev interface.
  for (const char* child : {"bandwidth", "filterref", "port", "coalesce", "virtualport", "mtu", "link"}) {
    if (interface) device.remove_child(child);
  }
  writeAddress(device.prepend_child("source"), *pci, interface);
  // A plain <hostdev> has no <vlan> in libvirt: there the VLAN is the fabric's to program.
  if (interface && vlan) {
    setAttribute(device.append_child("vlan").append_child("tag"), "id", std::to_string(*vlan));
  }
  return printXml(device);
}

bool sameForGuest(const std::string& element_a, const std::string& element_b) {
  const auto a = parseXml(element_a, "device element", "interface hostdev");
  const auto b = parseXml(element_b, "device element", "interface hostdev");
  if (!a || !b) return false;
  const pugi::xml_node left = (*a)->document_element(), right = (*b)->document_element();
  const auto mac_l = macOf(left), mac_r = macOf(right);
  const auto pci_l = guestPciAddress(left), pci_r = guestPciAddress(right);
  if (!mac_l || !mac_r || !pci_l || !pci_r) return false;
  return aliasOf(left) == aliasOf(right) && *mac_l == *mac_r && *pci_l == *pci_r &&
         modelOf(left) == modelOf(right);
}

bool sameOnHost(const std::string& element_a, const std::string& element_b) {
  const auto a = parseXml(element_a, "device element", "interface hostdev");
  const auto b = parseXml(element_b, "device element", "interface hostdev");
  if (!a || !b) return false;
  const pugi::xml_node left = (*a)->document_element().child("source");
  const pugi::xml_node right = (*b)->document_element().child("source");
  const pugi::xml_node pci_l = left.child("address"), pci_r = right.child("address");
  if (!pci_l || !pci_r) {
    return !pci_l && !pci_r && std::strcmp(left.attribute("bridge").value(), right.attribute("bridge").value()) == 0;
  }
  const auto vf_l = readPciAddress(pci_l, "source"), vf_r = readPciAddress(pci_r, "source");
  return vf_l && vf_r && *vf_l == *vf_r;
}

}  // namespace rdmove
