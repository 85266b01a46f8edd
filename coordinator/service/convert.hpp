// Between the coordinator's own values and the messages of the gRPC APIs. Pure functions, any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/journal/journal.hpp"
#include "coordinator/migration/bulletin.hpp"
#include "coordinator/migration/partner.hpp"
#include "coordinator/migration/plan.hpp"
#include "coordinator/migration/traffic.hpp"
#include "coordinator/migration/transfer_samples.hpp"
#include "coordinator/preflight/finding.hpp"
#include "coordinator/service/api/common.pb.h"
#include "coordinator/service/api/local.pb.h"
#include "coordinator/service/api/partner.pb.h"

namespace rdmove {

/// The API version that Hello compares; raised when an old partner could misunderstand a new one.
inline constexpr unsigned kPartnerApi = 1;

/// For the partner API, where UNAVAILABLE and the like are told apart from a refusal.
grpc::Status toStatus(const Error& error);
/// For the local API: an answer is never to be taken for the connection's own trouble, so all that is neither
/// bad input nor absence is FAILED_PRECONDITION; only a daemon that stops is UNAVAILABLE.
grpc::Status toLocalStatus(const Error& error);
Error fromStatus(const grpc::Status& status, const std::string& attempted);

MigrationOptions fromMessage(const v1::MigrateOptions& options, std::chrono::milliseconds default_prepare);
/// Why these options cannot be taken; empty when they can.
std::string optionsRefusal(const v1::MigrateOptions& options);

v1::TransferPoint toMessage(const TransferSample& sample);
v1::MigrationSummary toMessage(const MigrationRecord& record);
v1::MigrationUpdate toMessage(const Update& update);
v1::PlanSummary toMessage(const Plan& plan, const std::map<DeviceAlias, VfName>& source_vfs);
v1::Step toMessage(const StepRecord& step);
StepRecord fromMessage(const v1::Step& step);
v1::DeviceTraffic toMessage(const DeviceTraffic& traffic);
/// Bounded, as it may come from a partner.
Traffic fromMessages(const google::protobuf::RepeatedPtrField<v1::DeviceTraffic>& devices);
v1::Finding toMessage(const Finding& finding);
Finding fromMessage(const v1::Finding& finding);
v1::PartnerAdapter toMessage(const Adapter& adapter);
v1::PartnerMachine toMessage(const GuestMachine& machine);
/// Bounded, as it comes from a partner.
SourceFacts factsOf(const v1::PartnerExamineRequest& request);
v1::PartnerVf toMessage(const MovingVf& vf);
Result<MovingVf> fromMessage(const v1::PartnerVf& vf);
v1::ArrivalReport toMessage(const ArrivalReport& report);
ArrivalReport fromMessage(const v1::ArrivalReport& report);

}  // namespace rdmove
