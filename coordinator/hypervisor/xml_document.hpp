// Parsing and printing with the bounds that text from a partner or a guest's owner needs: 1 MiB, 64 levels.
// Private to this folder (pugixml's types stay in it). Pure functions, any thread.
#pragma once

#include <memory>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "coordinator/base/result.hpp"

namespace rdmove {

inline constexpr std::size_t kMaxXmlBytes = 1024 * 1024;
inline constexpr int kMaxXmlDepth = 64;

/// The parsed text, whose root element is one of the space-separated `roots`. `what` names it in errors.
Result<std::unique_ptr<pugi::xml_document>> parseXml(const std::string& text, const std::string& what,
                                                     std::string_view roots);

/// The node as text, indented by two spaces as libvirt does.
std::string printXml(const pugi::xml_node& node);

/// The name without its namespace prefix.
std::string_view localName(const char* name);

}  // namespace rdmove
