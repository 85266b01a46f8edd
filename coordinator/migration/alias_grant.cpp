#include "coordinator/migration/alias_grant.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmove {
namespace {

std::optional<Guid> granted(Fabric& fabric, const VfName& vf) {
  const auto details = fabric.look(vf);
  if (!details) return std::nullopt;
  const auto word = std::find_if(details->told.begin(), details->told.end(),
                                 [](const auto& each) { return each.first == "granted-port-guid"; });
  return word == details->told.end() ? std::nullopt : Guid::read(word->second);
}

}  // namespace

std::optional<std::string> aliasNotGranted(Fabric& fabric, const VfName& vf, const VfDeclaration& declared,
                                           Patience& patience) {
  if (declared.model != Model::kSharedPort || !declared.identity.port_guid) return std::nullopt;
  const Guid wanted = *declared.identity.port_guid;
  for (;;) {
    const auto has = granted(fabric, vf);
    if (!has || *has == wanted) return std::nullopt;
    if (patience.again()) continue;
    return fmt::format(
        "{}: warning: the subnet manager has not granted GUID {} to {} (it has {}): its GID is another one "
        "than before",
        declared.alias.str(), wanted.str(), vf.str(), has->str());
  }
}

}  // namespace rdmove
