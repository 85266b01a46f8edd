// What the readers of the rdmove metadata share. Internal to metadata.cpp and metadata_identity.cpp.
#pragma once

#include <initializer_list>
#include <pugixml.hpp>
#include <string>

#include "coordinator/base/result.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove::metadata {

tl::unexpected<Error> bad(std::string cause);

enum class Unknown { kIgnored, kRefused };

/// An unknown attribute is ignored (a newer rdmove wrote it), unless it looks like a known one misspelt, or
/// is part of an identity: half an identity on the fabric would be another machine's.
Result<void> checkAttributes(const pugi::xml_node& node, std::initializer_list<const char*> known,
                             Unknown unknown);

Result<Identity> readIdentity(const pugi::xml_node& node);
void writeIdentity(pugi::xml_node vf, const Identity& identity);

}  // namespace rdmove::metadata
