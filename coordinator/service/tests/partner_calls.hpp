// A partner that calls hostb with requests that are right, for tests to spoil one thing of them.
#pragma once

#include <gtest/gtest.h>

#include "coordinator/service/tests/destination.hpp"

namespace rdmove {

using grpc::StatusCode;
using testing::HasSubstr;
using testing::Not;

inline constexpr const char* kMigration = "vm1-20261130-0a1b2c";
inline constexpr const char* kUuid = "52540077-0000-4000-8000-000000000001";
inline constexpr const char* kDevice =
    "<interface type='bridge'><mac address='52:54:00:77:00:01'/><model type='virtio'/><alias "
    "name='ua-rdma0'/>"
    "<address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/></interface>";

inline v1::PartnerVf goodVf() {
  v1::PartnerVf vf;
  vf.set_alias("ua-rdma0");
  vf.set_pool("fabric");
  vf.set_model("roce");
  vf.set_continuity("reconnect");
  vf.set_mac("52:54:00:77:00:01");
  vf.set_device_xml(kDevice);
  return vf;
}

inline v1::ReserveRequest goodReservation() {
  v1::ReserveRequest request;
  request.set_migration(kMigration);
  request.set_domain("vm1");
  request.set_uuid(kUuid);
  request.set_persistent(true);
  request.set_source_host("hosta");
  request.set_hold_ms(60000);
  *request.add_vfs() = goodVf();
  return request;
}

class PartnerServiceTest : public testing::Test {
 protected:
  grpc::Status reserve(const v1::ReserveRequest& request) {
    return hostb_.call(&v1::Partner::Stub::Reserve, request, granted_);
  }
  grpc::Status examine(const v1::ReserveRequest& like) {
    v1::PartnerExamineRequest request;
    request.set_domain(like.domain());
    request.set_uuid(like.uuid());
    request.set_source_host(like.source_host());
    *request.mutable_vfs() = like.vfs();
    v1::PartnerExamineReply reply;
    return hostb_.call(&v1::Partner::Stub::Examine, request, reply);
  }
  grpc::Status hello(unsigned api, const std::string& host) {
    v1::HelloRequest request;
    request.set_api(api);
    request.set_host(host);
    request.set_instance("instance-of-" + host);
    v1::HelloReply reply;
    return hostb_.call(&v1::Partner::Stub::Hello, request, reply);
  }
  void expectNothingChanged() {
    EXPECT_TRUE(hostb_.migrations().empty());
    EXPECT_TRUE(hostb_.leases().empty());
  }
  /// Both calls that carry VFs refuse it with `code` and a sentence that says `what`.
  void expectRefused(const v1::ReserveRequest& request, StatusCode code, const std::string& what) {
    for (const grpc::Status& status : {examine(request), reserve(request)}) {
      EXPECT_EQ(status.error_code(), code) << what << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(what));
    }
    expectNothingChanged();
  }

  Destination hostb_;
  v1::ReserveReply granted_;
};

}  // namespace rdmove
