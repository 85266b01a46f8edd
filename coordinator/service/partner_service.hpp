// The partner API's server (api/partner.proto): what sources ask of this host as a destination. Mutual TLS
// proves which partner calls; the configuration says what it may do. Calls run on gRPC's threads and go to
// the loop.
#pragma once

#include "coordinator/service/api/partner.grpc.pb.h"
#include "coordinator/service/coordinator.hpp"

namespace rdmove {

class PartnerService final : public v1::Partner::Service {
 public:
  PartnerService(Services& services, Coordinator& coordinator, Examiner& examiner, std::string instance)
      : services_(services), coordinator_(coordinator), examiner_(examiner), instance_(std::move(instance)) {}

  grpc::Status Hello(grpc::ServerContext*, const v1::HelloRequest*, v1::HelloReply*) override;
  grpc::Status Examine(grpc::ServerContext*, const v1::PartnerExamineRequest*,
                       v1::PartnerExamineReply*) override;
  grpc::Status Room(grpc::ServerContext*, const v1::RoomRequest*, v1::RoomReply*) override;
  grpc::Status Reserve(grpc::ServerContext*, const v1::ReserveRequest*, v1::ReserveReply*) override;
  grpc::Status ReleaseIdentity(grpc::ServerContext*, const v1::ReleaseIdentityRequest*,
                               v1::ReleaseIdentityReply*) override;
  grpc::Status Withdraw(grpc::ServerContext*, const v1::WithdrawRequest*, v1::WithdrawReply*) override;
  grpc::Status Follow(grpc::ServerContext*, const v1::FollowRequest*,
                      grpc::ServerWriter<v1::ArrivalReport>*) override;

 private:
  /// The partner that the caller's certificate names; without TLS, the one that it says it is.
  Result<HostName> caller(const grpc::ServerContext& context, const std::string& claimed) const;
  /// A partner speaks of its own migrations only.
  grpc::Status mayTouch(const grpc::ServerContext& context, const std::string& migration) const;

  Services& services_;
  Coordinator& coordinator_;
  Examiner& examiner_;
  std::string instance_;  ///< of this daemon's run: how a host notices that it calls itself
};

}  // namespace rdmove
