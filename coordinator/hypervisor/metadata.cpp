#include "coordinator/hypervisor/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "coordinator/hypervisor/metadata_parts.hpp"
#include "coordinator/hypervisor/xml_document.hpp"

namespace rdmove {
namespace {

constexpr std::size_t kMaxVfs = 16;
constexpr std::size_t kMaxNameBytes = 64;

/// "nodeGuid", "node_guid" and "node-guid" fold to the same text.
std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '-' && c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

}  // namespace

namespace metadata {

tl::unexpected<Error> bad(std::string cause) {
  return failure(ErrorCode::kBadInput, "read the rdmove metadata", std::move(cause),
                 "Correct it with `rdmove define VM` or virsh metadata.");
}

Result<void> checkAttributes(const pugi::xml_node& node, std::initializer_list<const char*> known,
                             Unknown unknown) {
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    const std::string_view name = attribute.name();
    if (name == "xmlns" || name.starts_with("xmlns:")) continue;
    bool exact = false;
    const char* near = nullptr;
    for (const char* each : known) {
      exact = exact || name == each;
      if (folded(name) == folded(each)) near = each;
    }
    if (exact) {
      if (node.attribute(attribute.name()) != attribute) {
        return bad(fmt::format("attribute '{}' of <{}> is there twice", name, localName(node.name())));
      }
      continue;
    }
    if (near != nullptr) {
      return bad(fmt::format("attribute '{}' of <{}>: it is spelt '{}'", name, localName(node.name()), near));
    }
    if (unknown == Unknown::kRefused) {
      return bad(
          fmt::format("attribute '{}' of <{}> is not known to this version", name, localName(node.name())));
    }
  }
  return {};
}

}  // namespace metadata

namespace {

using metadata::bad;
using metadata::checkAttributes;
using metadata::Unknown;

Result<std::string> required(const pugi::xml_node& node, const char* name) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (attribute && attribute.value()[0] != '\0') return std::string(attribute.value());
  return bad(fmt::format("<{}> needs attribute '{}'", localName(node.name()), name));
}

Result<DeviceAlias> readAlias(const pugi::xml_node& node) {
  auto text = required(node, "alias");
  if (!text) return tl::unexpected(text.error());
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (!text->starts_with("ua-") || text->size() == 3 || text->size() > kMaxNameBytes ||
      text->find_first_not_of(kAllowed) != std::string::npos) {
    return bad(fmt::format("attribute 'alias' of <{}> is '{}', not a user alias like 'ua-rdma0'",
                           localName(node.name()), text->substr(0, kMaxNameBytes)));
  }
  return DeviceAlias(std::move(*text));
}

Result<PoolName> readPool(const pugi::xml_node& node) {
  auto text = required(node, "pool");
  if (!text) return tl::unexpected(text.error());
  const bool control = std::any_of(text->begin(), text->end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control || text->size() > kMaxNameBytes || text->front() == ' ' || text->back() == ' ') {
    return bad("attribute 'pool' of <vf> is not a name of at most 64 printable bytes");
  }
  return PoolName(std::move(*text));
}

Result<VfDeclaration> readVf(const pugi::xml_node& node) {
  if (auto ok = checkAttributes(node, {"alias", "pool", "model", "continuity"}, Unknown::kIgnored); !ok) {
    return tl::unexpected(ok.error());
  }
  auto alias = readAlias(node);
  if (!alias) return tl::unexpected(alias.error());
  auto pool = readPool(node);
  if (!pool) return tl::unexpected(pool.error());
  auto model_text = required(node, "model");
  if (!model_text) return tl::unexpected(model_text.error());
  const auto model = parseModel(*model_text);
  if (!model) {
    return bad(fmt::format("attribute 'model' of <vf> is '{}', not shared-port, virtual-switch or roce",
                           *model_text));
  }
  VfDeclaration vf{std::move(*alias), std::move(*pool), *model, Continuity::kReconnect, {}};
  if (const pugi::xml_attribute text = node.attribute("continuity")) {
    const auto continuity = parseContinuity(text.value());
    if (!continuity) {
      return bad(
          fmt::format("attribute 'continuity' of <vf> is '{}', not reconnect, park or carry", text.value()));
    }
    vf.continuity = *continuity;
  }
  bool seen = false;
  for (const pugi::xml_node& child : node.children()) {
    if (localName(child.name()) != "identity") continue;
    if (std::exchange(seen, true)) return bad("<vf> " + vf.alias.str() + " has two <identity> elements");
    auto identity = metadata::readIdentity(child);
    if (!identity) return tl::unexpected(identity.error());
    vf.identity = std::move(*identity);
  }
  return vf;
}

Result<void> checkUnique(const DomainDeclaration& declaration, const VfDeclaration& vf) {
  for (const VfDeclaration& other : declaration.vfs) {
    if (other.alias == vf.alias) return bad("two <vf> have alias '" + vf.alias.str() + "'");
    if (vf.identity.mac && vf.identity.mac == other.identity.mac) {
      return bad("two <vf> have mac '" + vf.identity.mac->str() + "'");
    }
    if (vf.identity.node_guid && vf.identity.node_guid == other.identity.node_guid)
      return bad("two <vf> have node-guid '" + vf.identity.node_guid->str() + "'");
    if (vf.identity.port_guid && vf.identity.port_guid == other.identity.port_guid) {
      return bad("two <vf> have port-guid '" + vf.identity.port_guid->str() + "'");
    }
  }
  return {};
}

void append(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(value.c_str());
}

}  // namespace

Result<DomainDeclaration> parseDeclaration(const std::string& element) {
  const auto document = parseXml(element, "the rdmove metadata", "rdma");
  if (!document) return tl::unexpected(document.error());
  DomainDeclaration declaration;
  for (const pugi::xml_node& node : (*document)->document_element().children()) {
    const std::string_view name = localName(node.name());
    if (name == "vf") {
      if (declaration.vfs.size() == kMaxVfs) return bad(fmt::format("more than {} <vf> elements", kMaxVfs));
      auto vf = readVf(node);
      if (!vf) return tl::unexpected(vf.error());
      if (auto ok = checkUnique(declaration, *vf); !ok) return tl::unexpected(ok.error());
      declaration.vfs.push_back(std::move(*vf));
    } else if (name == "standby") {
      if (declaration.standby) return bad("two <standby> elements");
      if (auto ok = checkAttributes(node, {"alias"}, Unknown::kIgnored); !ok)
        return tl::unexpected(ok.error());
      auto alias = readAlias(node);
      if (!alias) return tl::unexpected(alias.error());
      declaration.standby = std::move(*alias);
    }
  }
  for (const VfDeclaration& vf : declaration.vfs) {
    if (declaration.standby == vf.alias)
      return bad("<standby> names '" + vf.alias.str() + "', which is a <vf>");
  }
  return declaration;
}

std::string formatDeclaration(const DomainDeclaration& declaration) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("rdma");
  for (const VfDeclaration& vf : declaration.vfs) {
    pugi::xml_node node = root.append_child("vf");
    append(node, "alias", vf.alias.str());
    append(node, "pool", vf.pool.str());
    append(node, "model", std::string(toString(vf.model)));
    append(node, "continuity", std::string(toString(vf.continuity)));
    metadata::writeIdentity(node, vf.identity);
  }
  if (declaration.standby) append(root.append_child("standby"), "alias", declaration.standby->str());
  return printXml(root);
}

}  // namespace rdmove
