// The local API (api/local.proto). Its calls run on gRPC's threads: they block there, and go to the loop for
// all that sessions and the journal own. Files: local_service.cpp (migrations), local_evacuation.cpp,
// local_queries.cpp (reading), local_define.cpp (metadata).
#pragma once

#include "coordinator/evacuation/evacuations.hpp"
#include "coordinator/service/api/local.grpc.pb.h"
#include "coordinator/service/coordinator.hpp"

namespace rdmove {

class LocalService final : public v1::Local::Service {
 public:
  LocalService(Services& services, Coordinator& coordinator, Evacuations& evacuations, Examiner& examiner)
      : services_(services), coordinator_(coordinator), evacuations_(evacuations), examiner_(examiner) {}

  grpc::Status Examine(grpc::ServerContext*, const v1::MigrateRequest*, v1::ExamineReply*) override;
  grpc::Status Migrate(grpc::ServerContext*, const v1::MigrateRequest*,
                       grpc::ServerWriter<v1::MigrationUpdate>*) override;
  grpc::Status Prepare(grpc::ServerContext*, const v1::PrepareRequest*,
                       grpc::ServerWriter<v1::MigrationUpdate>*) override;
  grpc::Status PlanEvacuation(grpc::ServerContext*, const v1::EvacuateRequest*, v1::EvacuationPlan*) override;
  grpc::Status Evacuate(grpc::ServerContext*, const v1::EvacuateRequest*,
                        grpc::ServerWriter<v1::MigrationUpdate>*) override;
  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelRequest*, v1::CancelReply*) override;
  grpc::Status Resolve(grpc::ServerContext*, const v1::ResolveRequest*, v1::ResolveReply*) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest*, v1::ListReply*) override;
  grpc::Status Show(grpc::ServerContext*, const v1::ShowRequest*, v1::ShowReply*) override;
  grpc::Status Export(grpc::ServerContext*, const v1::ExportRequest*, v1::ExportReply*) override;
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::MigrationUpdate>*) override;
  grpc::Status GetTimeline(grpc::ServerContext*, const v1::TimelineRequest*, v1::TimelineReply*) override;
  grpc::Status ListVfs(grpc::ServerContext*, const v1::ListVfsRequest*, v1::ListVfsReply*) override;
  grpc::Status ShowVf(grpc::ServerContext*, const v1::ShowVfRequest*, v1::ShowVfReply*) override;
  grpc::Status QueryAgent(grpc::ServerContext*, const v1::QueryAgentRequest*, v1::QueryAgentReply*) override;
  grpc::Status Define(grpc::ServerContext*, const v1::DefineRequest*, v1::DefineReply*) override;
  grpc::Status Doctor(grpc::ServerContext*, const v1::DoctorRequest*, v1::DoctorReply*) override;

 private:
  Result<Plan> planOf(const v1::MigrateRequest& request) const;
  /// Starts it, and streams it until `last` says so.
  grpc::Status depart(grpc::ServerContext& context, Plan plan,
                      grpc::ServerWriter<v1::MigrationUpdate>& writer, bool (*last)(const Update&));
  /// An evacuation's id, or the start of one; nullopt: it is none.
  Result<std::optional<EvacuationId>> evacuation(const std::string& id) const;
  grpc::Status watchEvacuation(grpc::ServerContext& context, const EvacuationId& id,
                               grpc::ServerWriter<v1::MigrationUpdate>& writer);
  grpc::Status showEvacuation(const EvacuationId& id, v1::ShowReply& reply) const;

  Services& services_;
  Coordinator& coordinator_;
  Evacuations& evacuations_;
  Examiner& examiner_;
};

}  // namespace rdmove
