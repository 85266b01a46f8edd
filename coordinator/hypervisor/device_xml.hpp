// How one device element is looked at: its alias, MAC, model and addresses. Private to this folder; shared by
// domain_xml.cpp (whole domains) and device_xml.cpp (single devices). Pure functions, any thread.
#pragma once

#include <optional>
#include <pugixml.hpp>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

std::string aliasOf(const pugi::xml_node& device);

/// `address` has domain, bus, slot and function as libvirt writes them; "0000:3b:00.2". Names what is wrong.
Result<std::string> readPciAddress(const pugi::xml_node& address, const std::string& what);

/// The guest's PCI address; nullopt when the element has none yet.
Result<std::optional<std::string>> guestPciAddress(const pugi::xml_node& device);

/// The MAC of an interface; nullopt when the element says none.
Result<std::optional<MacAddress>> macOf(const pugi::xml_node& device);

}  // namespace rdmove
