#include "coordinator/service/partner_service.hpp"

#include <fmt/format.h>
#include <grpcpp/security/auth_context.h>
#include <spdlog/spdlog.h>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/on_loop.hpp"
#include "coordinator/service/update_queue.hpp"

namespace rdmove {
namespace {

constexpr std::chrono::milliseconds kLookForCaller{500};
constexpr int kMostVfs = 16;
constexpr std::chrono::milliseconds kLongestHold{3600000};

Result<std::vector<MovingVf>> readVfs(const google::protobuf::RepeatedPtrField<v1::PartnerVf>& messages) {
  if (messages.size() > kMostVfs) {
    return failure(ErrorCode::kBadInput, "read the partner's request",
                   fmt::format("more than {} VFs", kMostVfs));
  }
  std::vector<MovingVf> vfs;
  for (const v1::PartnerVf& message : messages) {
    auto vf = fromMessage(message);
    if (!vf) return tl::unexpected(vf.error());
    vfs.push_back(std::move(*vf));
  }
  return vfs;
}

}  // namespace

Result<HostName> PartnerService::caller(const grpc::ServerContext& context,
                                        const std::string& claimed) const {
  const auto& partners = services_.config.partners;
  if (services_.config.insecure) {
    if (partners.count(HostName(claimed)) == 0) {
      return failure(ErrorCode::kRefused, "",
                     services_.config.host.str() + " does not know the host " + claimed,
                     "Add [partners." + claimed + "] to its rdmoved.toml.");
    }
    return HostName(claimed);
  }
  std::string seen;
  for (const auto& name : context.auth_context()->FindPropertyValues("x509_subject_alternative_name")) {
    const std::string san(name.data(), name.size());
    seen += (seen.empty() ? "" : ", ") + san;
    for (const auto& [host, partner] : partners) {
      if (partner.san == san) return host;
    }
  }
  return failure(ErrorCode::kRefused, "",
                 "no partner of " + services_.config.host.str() + " has a certificate for " +
                     (seen.empty() ? "no name" : seen),
                 "Set san of the partner in its rdmoved.toml.");
}

grpc::Status PartnerService::mayTouch(const grpc::ServerContext& context,
                                      const std::string& migration) const {
  if (services_.config.insecure) return grpc::Status::OK;
  const auto host = caller(context, "");
  if (!host) return toStatus(host.error());
  const auto record = onLoop(services_.loop, [this, &migration] {
    return services_.journal.find(MigrationId(migration), Role::kArrival);
  });
  if (!record) return toStatus(record.error());
  if (*record && (*record)->partner != *host) {
    return toStatus(Error{ErrorCode::kRefused, "", migration + " is not a migration of " + host->str(), ""});
  }
  return grpc::Status::OK;
}

grpc::Status PartnerService::Hello(grpc::ServerContext* context, const v1::HelloRequest* request,
                                   v1::HelloReply* reply) {
  if (request->api() != kPartnerApi) {
    return toStatus(
        Error{ErrorCode::kIncompatible, "",
              fmt::format("{} speaks version {} of the partner API, {} speaks {}",
                          services_.config.host.str(), kPartnerApi, request->host(), request->api()),
              "Install the same version of rdmove on both hosts."});
  }
  reply->set_api(kPartnerApi);
  reply->set_host(services_.config.host.str());
  reply->set_software("rdmove " RDMOVE_VERSION);
  reply->set_instance(instance_);
  if (request->instance() == instance_) return grpc::Status::OK;  // ourselves: the caller notices
  const auto host = caller(*context, request->host());
  return host ? grpc::Status::OK : toStatus(host.error());
}

grpc::Status PartnerService::Examine(grpc::ServerContext* context, const v1::PartnerExamineRequest* request,
                                     v1::PartnerExamineReply* reply) {
  const auto host = caller(*context, request->source_host());
  if (!host) return toStatus(host.error());
  auto vfs = readVfs(request->vfs());
  if (!vfs) return toStatus(vfs.error());
  Plan plan;
  plan.domain = request->domain();
  plan.uuid = DomainUuid(request->uuid());
  plan.vfs = std::move(*vfs);
  const auto leases = onLoop(services_.loop, [this] { return services_.journal.leases(); });
  if (!leases) return toStatus(leases.error());
  std::vector<VfName> leased;
  for (const LeaseRecord& lease : *leases) leased.push_back(lease.vf);
  for (const Finding& finding : examiner_.examineArrival(plan, *host, leased, factsOf(*request)))
    *reply->add_findings() = toMessage(finding);
  return grpc::Status::OK;
}

grpc::Status PartnerService::Room(grpc::ServerContext* context, const v1::RoomRequest* request,
                                  v1::RoomReply* reply) {
  const auto host = caller(*context, request->source_host());
  if (!host) return toStatus(host.error());
  const auto leases = onLoop(services_.loop, [this] { return services_.journal.leases(); });
  if (!leases) return toStatus(leases.error());
  std::vector<VfName> leased;
  for (const LeaseRecord& lease : *leases) leased.push_back(lease.vf);
  const auto room = examiner_.room(*host, leased);
  if (!room) return toStatus(room.error());
  for (const auto& [pool, free] : room->free_vfs) (*reply->mutable_free_vfs())[pool.str()] = free;
  reply->set_memory_kib(room->memory_kib);
  reply->set_cpus(room->cpus);
  reply->set_vcpus(room->vcpus);
  return grpc::Status::OK;
}

grpc::Status PartnerService::Reserve(grpc::ServerContext* context, const v1::ReserveRequest* request,
                                     v1::ReserveReply* reply) {
  const auto host = caller(*context, request->source_host());
  if (!host) return toStatus(host.error());
  auto vfs = readVfs(request->vfs());
  if (!vfs) return toStatus(vfs.error());
  if (request->migration().empty() || request->migration().size() > 128 || request->uuid().size() != 36) {
    return toStatus(
        Error{ErrorCode::kBadInput, "read the partner's request", "migration or uuid is not valid", ""});
  }
  Plan plan;
  plan.id = MigrationId(request->migration());
  plan.domain = request->domain();
  plan.uuid = DomainUuid(request->uuid());
  plan.persistent = request->persistent();
  plan.mover = request->another_mover() ? Mover::kAnother : Mover::kRdmove;
  plan.source = *host;
  plan.destination = services_.config.host;
  plan.vfs = std::move(*vfs);
  const auto& allowed = services_.config.partners.at(*host).pools;
  for (const MovingVf& vf : plan.vfs) {
    if (std::find(allowed.begin(), allowed.end(), vf.declaration.pool) == allowed.end()) {
      return toStatus(Error{ErrorCode::kRefused, "reserve a VF for " + plan.domain,
                            host->str() + " may not use pool " + vf.declaration.pool.str() + " of " +
                                services_.config.host.str(),
                            "Add it to pools of [partners." + host->str() + "] there."});
    }
  }
  const auto hold = std::clamp(std::chrono::milliseconds(request->hold_ms()), std::chrono::milliseconds(1000),
                               kLongestHold);
  const auto leases =
      awaitLoop<std::vector<LeasedVf>>(services_.loop, [this, plan, hold](ArrivalSession::Reserved done) {
        coordinator_.reserve(plan, hold, std::move(done));
      });
  if (!leases) return toStatus(leases.error());
  for (const LeasedVf& lease : *leases) {
    auto* granted = reply->add_granted();
    granted->set_alias(lease.alias.str());
    granted->set_vf(lease.vf.str());
    granted->set_device_xml(lease.device_xml);
  }
  return grpc::Status::OK;
}

grpc::Status PartnerService::ReleaseIdentity(grpc::ServerContext* context,
                                             const v1::ReleaseIdentityRequest* request,
                                             v1::ReleaseIdentityReply*) {
  if (const auto may = mayTouch(*context, request->migration()); !may.ok()) return may;
  const auto taken =
      awaitLoop<bool>(services_.loop, [this, &request](std::function<void(Result<bool>)> done) {
        const auto released = coordinator_.identityReleased(MigrationId(request->migration()),
                                                            fromMessages(request->traffic_before()));
        done(released ? Result<bool>(true) : tl::unexpected(released.error()));
      });
  return taken ? grpc::Status::OK : toStatus(taken.error());
}

grpc::Status PartnerService::Withdraw(grpc::ServerContext* context, const v1::WithdrawRequest* request,
                                      v1::WithdrawReply* reply) {
  if (const auto may = mayTouch(*context, request->migration()); !may.ok()) return may;
  const auto answer = awaitLoop<WithdrawAnswer>(
      services_.loop, [this, &request](std::function<void(Result<WithdrawAnswer>)> done) {
        coordinator_.withdraw(MigrationId(request->migration()), request->source_runs(), std::move(done));
      });
  if (!answer) return toStatus(answer.error());
  reply->set_running_here(answer->running_there);
  reply->set_state(answer->state);
  reply->set_ran_here(answer->ran_there);
  reply->set_may_have_run(answer->may_have_run);
  return grpc::Status::OK;
}

grpc::Status PartnerService::Follow(grpc::ServerContext* context, const v1::FollowRequest* request,
                                    grpc::ServerWriter<v1::ArrivalReport>* writer) {
  if (const auto may = mayTouch(*context, request->migration()); !may.ok()) return may;
  const MigrationId id(request->migration());
  const auto queue = std::make_shared<UpdateQueue>();
  const auto key = onLoop(services_.loop, [this, queue, id]() -> Result<std::uint64_t> {
    return services_.bulletin.subscribe([queue, id](const Update& update) {
      if (update.record.id == id && update.record.role == Role::kArrival) queue->push(update);
    });
  });
  if (!key) return toStatus(key.error());
  grpc::Status status = grpc::Status::OK;
  for (bool first = true; !context->IsCancelled(); first = false) {
    if (!first && !queue->pop(kLookForCaller)) {
      boost::asio::post(services_.loop, [this, id] { coordinator_.renew(id); });
      continue;
    }
    const auto report = onLoop(services_.loop, [this, &id] { return coordinator_.report(id); });
    if (!report) {
      status = toStatus(report.error());
      break;
    }
    if (!writer->Write(toMessage(*report)) || isFinished(report->outcome)) break;
  }
  boost::asio::post(services_.loop, [this, key = *key] { services_.bulletin.unsubscribe(key); });
  return status;
}

}  // namespace rdmove
