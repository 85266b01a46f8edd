// rdmove resolve: the operator's word where a host is silent for good.
#include <algorithm>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/hypervisor/metadata.hpp"
#include "coordinator/service/convert.hpp"
#include "coordinator/service/local_service.hpp"
#include "coordinator/service/on_loop.hpp"

namespace rdmove {
namespace {

/// A word against a host that answers is a mistake, if that host can know better.
Result<void> needed(Partners& partners, const MigrationRecord& record, OperatorWord word, bool force) {
  const HostName& host = record.partner;
  if (host.empty()) return {};
  const auto partner = partners.find(host);
  if (!partner || !(*partner)->hello()) return {};
  const std::string attempted = std::string("take the word ") + toString(word);
  if (word != OperatorWord::kSourceIsDead) {
    const auto answer = (*partner)->withdraw(record.id, false);
    if (answer && answer->may_have_run && !answer->running_there && !answer->ran_there) return {};
    if (!answer && force) return {};
    return failure(ErrorCode::kRefused, attempted, host.str() + " answers",
                   answer ? "It knows whether the VM runs there: wait, or see rdmove show ID there."
                          : "Help it to look: " + answer.error().sentence() +
                                " If that cannot be, say it with --force.");
  }
  if (force) return {};
  return failure(ErrorCode::kRefused, attempted, host.str() + " answers",
                 "Look with rdmove vf list there that no VF has the identity; then say it with --force.");
}

/// What a running domain declares and does not have.
Result<Plan> missingDevices(Hypervisor& hypervisor, const Config& config, const DomainStatus& domain) {
  const std::string attempted = "give " + domain.name + " its devices";
  if (domain.state != DomainState::kRunning)
    return failure(ErrorCode::kRefused, attempted, "it does not run on this host (" + domain.state_text + ")");
  const auto element = hypervisor.metadata(domain.uuid, XmlKind::kLive);
  if (!element) return tl::unexpected(element.error());
  if (!*element)
    return failure(ErrorCode::kRefused, attempted, "it has no rdma metadata", "See rdmove define --help.");
  const auto declaration = parseDeclaration(**element);
  if (!declaration) return tl::unexpected(declaration.error());
  const auto live = hypervisor.xml(domain.uuid, XmlKind::kLive);
  if (!live) return tl::unexpected(live.error());
  const auto defined = domain.persistent ? hypervisor.xml(domain.uuid, XmlKind::kInactive) : live;
  if (!defined) return tl::unexpected(defined.error());

  Plan plan;
  plan.domain = domain.name;
  plan.uuid = domain.uuid;
  plan.persistent = domain.persistent;
  for (const VfDeclaration& vf : declaration->vfs) {
    if (findDevice(*live, vf.alias)) continue;
    if (config.pools.count(vf.pool) == 0) {
      return failure(ErrorCode::kNotFound, attempted, "pool " + vf.pool.str() + " is not configured on this host",
                     "Add it to rdmoved.toml, or correct the metadata with rdmove define.");
    }
    const auto device = findDevice(*defined, vf.alias);
    auto portable = device ? portableDevice(device->element)
                           : newDevice(vf, vf.identity.port_guid.has_value());
    if (!portable) return tl::unexpected(portable.error());
    plan.vfs.push_back({vf, std::move(*portable)});
  }
  if (plan.vfs.empty())
    return failure(ErrorCode::kRefused, attempted, "it has all devices that its metadata declares");
  return plan;
}

Predicament predicamentOf(const Plan& plan) {
  std::string aliases;
  for (const MovingVf& vf : plan.vfs) aliases += (aliases.empty() ? "" : ", ") + vf.declaration.alias.str();
  return {plan.domain + " runs here without " + aliases +
              ", and no migration of this host knows where its identity is.",
          {{OperatorWord::kSourceIsDead,
            "It gets VFs of this host with the identity of its metadata. Make sure that no other host has a VF "
            "with it."}}};
}

void tell(const Predicament& predicament, v1::ResolveReply& reply) {
  reply.set_predicament(predicament.sentence);
  for (const Choice& choice : predicament.choices) {
    auto* told = reply.add_choices();
    told->set_word(toString(choice.word));
    told->set_consequence(choice.consequence);
  }
}

}  // namespace

grpc::Status LocalService::Resolve(grpc::ServerContext*, const v1::ResolveRequest* request,
                                   v1::ResolveReply* reply) {
  const auto word = parseOperatorWord(request->word());
  if (!request->word().empty() && !word) {
    return toLocalStatus(Error{ErrorCode::kBadInput, "", "there is no word " + request->word(),
                               "Use source-is-dead, destination-is-dead or runs-there."});
  }
  const auto domain = services_.hypervisor.find(request->id());
  const auto record = onLoop(services_.loop, [&]() -> Result<std::optional<MigrationRecord>> {
    if (domain) return coordinator_.unfinished(domain->uuid);
    auto named = coordinator_.find(request->id());
    if (!named) return tl::unexpected(named.error());
    return std::optional(std::move(*named));
  });
  if (!record) return toLocalStatus(record.error());

  if (!*record) {
    auto plan = missingDevices(services_.hypervisor, services_.config, *domain);
    if (!plan) return toLocalStatus(plan.error());
    tell(predicamentOf(*plan), *reply);
    if (!word) return grpc::Status::OK;
    if (word != OperatorWord::kSourceIsDead) {
      return toLocalStatus(Error{ErrorCode::kRefused, "", "no migration of " + domain->name + " is under way here",
                                 "See rdmove resolve " + domain->name + "."});
    }
    const auto id = awaitLoop<MigrationId>(services_.loop, [&](std::function<void(Result<MigrationId>)> begun) {
      coordinator_.adopt(std::move(*plan), std::move(begun));
    });
    if (!id) return toLocalStatus(id.error());
    reply->set_id(id->str());
    reply->set_message(domain->name + " gets its devices: see rdmove watch " + id->str() + ".");
    return grpc::Status::OK;
  }

  const MigrationRecord& stands = **record;
  reply->set_id(stands.id.str());
  tell(predicamentOf(stands), *reply);
  if (!word) return grpc::Status::OK;
  if (auto may = needed(services_.partners, stands, *word, request->force()); !may)
    return toLocalStatus(may.error());
  const auto taken = onLoop(services_.loop, [&]() -> Result<bool> {
    if (auto resolved = coordinator_.resolve(stands.id, *word); !resolved)
      return tl::unexpected(resolved.error());
    return true;
  });
  if (!taken) return toLocalStatus(taken.error());
  reply->set_message("Taken: see rdmove watch " + stands.id.str() + ".");
  return grpc::Status::OK;
}

}  // namespace rdmove
