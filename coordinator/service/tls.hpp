// TLS of the partner API: mutual, from libvirt's own PKI paths unless configured otherwise; none when
// insecure.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "coordinator/service/config.hpp"

namespace rdmove {

Result<std::shared_ptr<grpc::ChannelCredentials>> clientCredentials(const Config& config);
Result<std::shared_ptr<grpc::ServerCredentials>> serverCredentials(const Config& config);

}  // namespace rdmove
