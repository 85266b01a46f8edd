#include "coordinator/migration/fabric_watch.hpp"

#include <fmt/format.h>

namespace rdmove {
namespace {

constexpr std::uint64_t kLinkLocal =
    0xfe80000000000000;  // the prefix that every subnet manager gives unless told otherwise

std::optional<Gid> gidOf(const VfDeclaration& vf) {
  if (vf.model == Model::kRoce || !vf.identity.port_guid) return std::nullopt;
  return Gid(kLinkLocal, *vf.identity.port_guid);
}

unsigned number(Lid lid) {
  return static_cast<unsigned>(lid);
}

}  // namespace

void FabricWatch::before(const Plan& plan) {
  for (const MovingVf& moving : plan.vfs) {
    const auto gid = gidOf(moving.declaration);
    if (!gid) continue;
    const auto subnet = open_(moving.declaration.pool);
    if (!subnet || !*subnet) continue;
    if (auto port = lookUpPort(***subnet, *gid)) known_[moving.declaration.alias.str()] = std::move(*port);
  }
}

std::vector<std::string> FabricWatch::after(const Plan& plan, std::chrono::milliseconds limit) {
  std::vector<std::string> said;
  for (const MovingVf& moving : plan.vfs) {
    if (!gidOf(moving.declaration)) continue;
    const auto subnet = open_(moving.declaration.pool);
    if (!subnet) continue;
    said.push_back(
        moving.declaration.alias.str() + ": " +
        (*subnet ? place(moving.declaration, ***subnet, limit) : "warning: " + subnet->error().sentence()));
  }
  return said;
}

std::string FabricWatch::place(const VfDeclaration& vf, Subnet& subnet, std::chrono::milliseconds limit) {
  const Gid gid = *gidOf(vf);
  const auto patience = patienceOf(limit);
  const auto known = known_.find(vf.alias.str());
  const KnownPort before = known == known_.end() ? KnownPort{gid, gid.guid(), {}, {}} : known->second;
  Result<Lid> found;
  if (vf.model == Model::kSharedPort) {
    const auto self = subnet.self();
    found = self ? awaitSharedPort(subnet, gid, *self, *patience) : tl::unexpected(self.error());
  } else {
    found = awaitVirtualSwitch(subnet, before, *patience);
  }
  if (!found) return "warning: " + found.error().sentence();
  if (vf.model == Model::kVirtualSwitch && before.lid != Lid{} && *found != before.lid) {
    return fmt::format("warning: the fabric has it at its new place under LID {}, and had it under {}",
                       number(*found), number(before.lid));
  }
  return fmt::format("the fabric has it at its new place, LID {}", number(*found));
}

}  // namespace rdmove
