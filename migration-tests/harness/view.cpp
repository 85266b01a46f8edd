#include "migration-tests/harness/view.hpp"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

namespace rdmove::harness {
namespace {

constexpr std::string_view kNamespace = "urn:rdmove:domain:1";

/// Without its prefix: libvirt chooses one of its own.
std::string_view localName(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const auto colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

bool isOurs(const pugi::xml_node& node) {
  if (localName(node) != "rdma") return false;
  for (const pugi::xml_attribute& attribute : node.attributes())
    if (attribute.value() == kNamespace) return true;
  return false;
}

pugi::xml_node rdmaElement(const pugi::xml_document& document) {
  return document.child("domain").child("metadata").find_child(isOurs);
}

std::string digits(const pugi::xml_node& address, const char* name) {
  const std::string value = address.attribute(name).value();
  return value.starts_with("0x") ? value.substr(2) : value;
}

std::string pciAddress(const pugi::xml_node& device) {
  const auto address = device.find_child_by_attribute("address", "type", "pci");
  if (!address) return "";
  return digits(address, "domain") + ":" + digits(address, "bus") + ":" + digits(address, "slot") + "." +
         digits(address, "function");
}

void write(std::ostringstream& out, const pugi::xml_node& node) {
  out << '<' << localName(node);
  for (const pugi::xml_attribute& attribute : node.attributes())
    if (attribute.value() != kNamespace) out << ' ' << attribute.name() << "='" << attribute.value() << '\'';
  out << '>';
  for (const pugi::xml_node& child : node.children())
    if (child.type() == pugi::node_element) write(out, child);
}

}  // namespace

Devices devicesOf(const std::string& domain_xml, const std::set<std::string>& aliases) {
  Devices devices;
  for (const std::string& alias : aliases) devices[alias];
  pugi::xml_document document;
  if (!document.load_string(domain_xml.c_str())) return devices;
  for (const pugi::xml_node& node : document.child("domain").child("devices").children()) {
    const auto found = devices.find(node.child("alias").attribute("name").value());
    if (found == devices.end()) continue;
    DeviceView& device = found->second;
    ++device.count;
    device.identity = node.child("mac").attribute("address").value();
    device.guest_address = pciAddress(node);
  }
  return devices;
}

std::set<std::string> movingAliases(const std::string& domain_xml) {
  std::set<std::string> aliases;
  pugi::xml_document document;
  if (!document.load_string(domain_xml.c_str())) return aliases;
  for (const pugi::xml_node& node : rdmaElement(document).children())
    if (localName(node) == "vf") aliases.insert(node.attribute("alias").value());
  return aliases;
}

std::string rdmaMetadata(const std::string& domain_xml) {
  pugi::xml_document document;
  if (!document.load_string(domain_xml.c_str())) return "";
  const auto element = rdmaElement(document);
  if (!element) return "";
  std::ostringstream out;
  write(out, element);
  return out.str();
}

std::string consoleLog(const std::string& domain_xml) {
  pugi::xml_document document;
  if (!document.load_string(domain_xml.c_str())) return "";
  return document.child("domain").child("devices").child("serial").child("log").attribute("file").value();
}

std::set<long> ticksOf(const std::string& console) {
  std::set<long> ticks;
  std::istringstream in(console);
  // A line that the switch cut in two is whole in neither log.
  for (std::string line; std::getline(in, line);) {
    while (line.ends_with('\r')) line.pop_back();
    if (in.eof() || !line.starts_with("tick ")) continue;
    char* end = nullptr;
    const long number = std::strtol(line.c_str() + 5, &end, 10);
    if (*end == '\0' && end != line.c_str() + 5) ticks.insert(number);
  }
  return ticks;
}

LoadView loadOf(const std::string& status_file) {
  LoadView load;
  const auto all = nlohmann::json::parse(status_file.substr(0, status_file.find('\n')), nullptr, false);
  if (!all.is_object()) return load;
  load.answers = true;
  const auto number = [&](const char* key) { return all.value(key, std::uint64_t{0}); };
  load.connections = number("connections");
  load.up = number("up");
  load.delivered = number("delivered");
  load.lost = number("lost");
  load.duplicated = number("duplicated");
  load.reordered = number("reordered");
  load.corrupted = number("corrupted");
  load.longest_blackout_us = number("longest_blackout_us");
  return load;
}

}  // namespace rdmove::harness
