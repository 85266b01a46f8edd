#include "coordinator/fabric/device_source.hpp"

#include <fmt/format.h>

#include <cstring>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

#include "coordinator/hypervisor/metadata.hpp"

namespace rdmove::fabric {
namespace {

constexpr std::size_t kLargestXml = 1U << 20;

Result<void> load(pugi::xml_document& document, const std::string& text, const char* attempted) {
  if (text.size() > kLargestXml)
    return failure(ErrorCode::kBadInput, attempted, "the XML is larger than 1 MiB");
  if (const auto parsed = document.load_buffer(text.data(), text.size()); !parsed) {
    return failure(ErrorCode::kBadInput, attempted,
                   fmt::format("it is no XML: {} at byte {}", parsed.description(), parsed.offset));
  }
  return {};
}

std::optional<std::string> pciAddress(const pugi::xml_node& address) {
  if (!address || std::strcmp(address.attribute("type").as_string("pci"), "pci") != 0) return std::nullopt;
  if (!address.attribute("bus") || !address.attribute("slot")) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.attribute("domain").as_uint(),
                     address.attribute("bus").as_uint(), address.attribute("slot").as_uint(),
                     address.attribute("function").as_uint());
}

DeviceSource read(const pugi::xml_node& device) {
  DeviceSource found;
  found.kind = device.name();
  if (const auto alias = device.child("alias").attribute("name")) found.alias = DeviceAlias(alias.value());
  found.mac = MacAddress::parse(device.child("mac").attribute("address").as_string());
  const pugi::xml_node source = device.child("source");
  if (const auto bridge = source.attribute("bridge")) found.bridge = bridge.value();
  found.pci = pciAddress(source.child("address"));
  return found;
}

/// The rdmove element as text, with its namespace said on it, as libvirt's metadata call would give it.
std::string findMetadata(const pugi::xml_node& metadata) {
  for (const pugi::xml_node& element : metadata.children()) {
    for (const pugi::xml_attribute& attribute : element.attributes()) {
      if (std::string_view(attribute.name()).starts_with("xmlns") &&
          std::strcmp(attribute.value(), kMetadataUri) == 0) {
        std::ostringstream text;
        element.print(text, "", pugi::format_raw);
        return text.str();
      }
    }
  }
  return {};
}

}  // namespace

Result<DeviceSource> readDeviceSource(const std::string& element) {
  pugi::xml_document document;
  if (auto loaded = load(document, element, "read a device"); !loaded)
    return tl::unexpected<Error>(loaded.error());
  return read(document.document_element());
}

Result<DomainDevices> readDomainDevices(const std::string& domain_xml) {
  pugi::xml_document document;
  if (auto loaded = load(document, domain_xml, "read a domain"); !loaded)
    return tl::unexpected<Error>(loaded.error());
  const pugi::xml_node domain = document.child("domain");
  DomainDevices found;
  for (const char* kind : {"interface", "hostdev"}) {
    for (const pugi::xml_node& device : domain.child("devices").children(kind))
      found.devices.push_back(read(device));
  }
  found.metadata = findMetadata(domain.child("metadata"));
  return found;
}

}  // namespace rdmove::fabric
