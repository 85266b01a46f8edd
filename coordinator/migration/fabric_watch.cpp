#include "coordinator/migration/fabric_watch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace rdmove {
namespace {

bool isInfiniBand(const VfDeclaration& vf) {
  return vf.model != Model::kRoce && vf.identity.port_guid;
}

Result<Gid> gidOf(const VfDeclaration& vf, Subnet& subnet) {
  return subnet.prefix().map([&](std::uint64_t prefix) { return Gid(prefix, *vf.identity.port_guid); });
}

unsigned number(Lid lid) {
  return static_cast<unsigned>(lid);
}

nlohmann::json toJson(const KnownPort& port) {
  nlohmann::json json{{"gid", port.gid.str()}, {"lid", number(port.lid)}};
  if (port.attachment) json["at"] = {number(port.attachment->lid), port.attachment->port};
  return json;
}

KnownPort knownPort(const nlohmann::json& json) {
  const auto gid = Gid::parse(json.at("gid").get<std::string>()).value();
  KnownPort port{gid, gid.guid(), Lid(json.at("lid").get<std::uint16_t>()), {}};
  if (json.contains("at"))
    port.attachment = Attachment{Lid(json["at"].at(0).get<std::uint16_t>()), json["at"].at(1).get<unsigned>()};
  return port;
}

std::string sentence(const LidChange& change) {
  return fmt::format("warning: port {} had LID {} and has {} now: the subnet manager has given LIDs anew",
                     change.port.str(), number(change.before), number(change.now));
}

}  // namespace

void FabricWatch::before(const Plan& plan, const std::vector<Guid>& others) {
  for (const MovingVf& moving : plan.vfs) {
    const VfDeclaration& vf = moving.declaration;
    if (!isInfiniBand(vf)) continue;
    const auto subnet = open_(vf.pool);
    if (!subnet || !*subnet) continue;
    const auto gid = gidOf(vf, ***subnet);
    if (!gid) continue;
    if (auto port = lookUpPort(***subnet, *gid)) known_[vf.alias.str()] = std::move(*port);
    (void)bystanders_[vf.alias.str()].note(***subnet, others);
  }
}

std::string FabricWatch::remembered() const {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [alias, port] : known_) all[alias] = toJson(port);
  return all.dump();
}

void FabricWatch::recall(const std::string& text) {
  try {
    const auto all = nlohmann::json::parse(text);
    for (const auto& [alias, port] : all.items()) known_[alias] = knownPort(port);
  } catch (const std::exception&) {
    known_.clear();
  }
}

std::vector<std::string> FabricWatch::after(const Plan& plan, std::chrono::milliseconds limit) {
  std::vector<std::string> said;
  for (const MovingVf& moving : plan.vfs) {
    const VfDeclaration& vf = moving.declaration;
    if (!isInfiniBand(vf)) continue;
    const auto subnet = open_(vf.pool);
    if (!subnet) continue;
    said.push_back(vf.alias.str() + ": " +
                   (*subnet ? place(vf, ***subnet, limit) : "warning: " + subnet->error().sentence()));
    const auto book = bystanders_.find(vf.alias.str());
    if (book == bystanders_.end() || !*subnet) continue;
    for (const LidChange& change : book->second.changes(***subnet).value_or(std::vector<LidChange>()))
      said.push_back(sentence(change));
  }
  return said;
}

std::string FabricWatch::place(const VfDeclaration& vf, Subnet& subnet, std::chrono::milliseconds limit) {
  const auto gid = gidOf(vf, subnet);
  if (!gid) return "warning: " + gid.error().sentence();
  const auto patience = patienceOf(limit);
  const auto known = known_.find(vf.alias.str());
  const KnownPort before = known == known_.end() ? KnownPort{*gid, gid->guid(), {}, {}} : known->second;
  Result<Lid> found;
  if (vf.model == Model::kSharedPort) {
    const auto self = subnet.self();
    found = self ? awaitSharedPort(subnet, *gid, *self, *patience) : tl::unexpected(self.error());
  } else {
    found = awaitVirtualSwitch(subnet, before, *patience);
  }
  if (!found) return "warning: " + found.error().sentence();
  if (vf.model == Model::kVirtualSwitch && before.lid != Lid{} && *found != before.lid) {
    return fmt::format("warning: the fabric has it at its new place under LID {}, and had it under {}",
                       number(*found), number(before.lid));
  }
  if (vf.model == Model::kVirtualSwitch && !before.attachment) {
    return fmt::format(
        "warning: it answers at LID {}; whether the fabric has it at its new place is not known, since where "
        "it was before is not",
        number(*found));
  }
  return fmt::format("the fabric has it at its new place, LID {}", number(*found));
}

}  // namespace rdmove
