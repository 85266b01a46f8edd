#include "coordinator/hypervisor/xml_document.hpp"

#include <fmt/format.h>

#include <sstream>

namespace rdmove {
namespace {

struct DepthWalker : pugi::xml_tree_walker {
  bool for_each(pugi::xml_node&) override { return depth() < kMaxXmlDepth; }
};

bool oneOf(std::string_view name, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = names.find(' ');
    if (names.substr(0, end) == name) return true;
    names = end == std::string_view::npos ? std::string_view{} : names.substr(end + 1);
  }
  return false;
}

}  // namespace

std::string_view localName(const char* name) {
  const std::string_view text = name;
  const std::size_t colon = text.find(':');
  return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

Result<std::unique_ptr<pugi::xml_document>> parseXml(const std::string& text, const std::string& what,
                                                     std::string_view roots) {
  const auto bad = [&](std::string cause) {
    return failure(ErrorCode::kBadInput, "read " + what, std::move(cause));
  };
  if (text.size() > kMaxXmlBytes) return bad(fmt::format("it has {} bytes, more than 1 MiB", text.size()));
  if (text.find('\0') != std::string::npos) return bad("it has a NUL byte");
  auto document = std::make_unique<pugi::xml_document>();
  constexpr unsigned kOptions =
      pugi::parse_default | pugi::parse_comments | pugi::parse_pi | pugi::parse_ws_pcdata_single;
  const pugi::xml_parse_result parsed =
      document->load_buffer(text.data(), text.size(), kOptions, pugi::encoding_utf8);
  if (!parsed) return bad(fmt::format("not XML at byte {}: {}", parsed.offset, parsed.description()));
  DepthWalker walker;
  if (!document->traverse(walker)) return bad(fmt::format("deeper than {} levels", kMaxXmlDepth));
  const pugi::xml_node root = document->document_element();
  if (!oneOf(localName(root.name()), roots)) {
    return bad(fmt::format("its element is <{}>, not one of: {}", root.name(), roots));
  }
  for (pugi::xml_node next = root.next_sibling(); next; next = next.next_sibling()) {
    if (next.type() == pugi::node_element)
      return bad(fmt::format("a second element <{}> follows", next.name()));
  }
  return document;
}

std::string printXml(const pugi::xml_node& node) {
  std::ostringstream out;
  node.print(out, "  ", pugi::format_indent | pugi::format_no_declaration, pugi::encoding_utf8);
  return out.str();
}

}  // namespace rdmove
