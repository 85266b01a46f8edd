// The source's side of the partner API: what it makes of a destination that is not what the configuration
// says.
#include <gtest/gtest.h>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/partner_client.hpp"
#include "coordinator/service/tests/destination.hpp"

namespace rdmove {
namespace {

using testing::HasSubstr;

/// Says hello as it is told to.
class OtherDaemon : public v1::Partner::Service {
 public:
  grpc::Status Hello(grpc::ServerContext*, const v1::HelloRequest*, v1::HelloReply* reply) override {
    *reply = says;
    return status;
  }
  v1::HelloReply says;
  grpc::Status status = grpc::Status::OK;
};

/// hosta, whose configuration has hostb at `address`.
class Source {
 public:
  explicit Source(const std::string& address, const std::string& instance = "instance-of-hosta") {
    config_.host = HostName("hosta");
    config_.insecure = true;
    config_.timeouts.partner = std::chrono::seconds(3);
    PartnerConfig hostb;
    hostb.name = HostName("hostb");
    hostb.address = address;
    config_.partners[hostb.name] = hostb;
    partners_ = std::move(makePartners(config_, instance, loop_).value());
  }
  Partner& hostb() { return *partners_->find(HostName("hostb")).value(); }
  Partners& partners() { return *partners_; }

 private:
  Config config_;
  boost::asio::io_context loop_;
  std::unique_ptr<Partners> partners_;
};

TEST(PartnerClient, agrees_with_a_destination_of_the_same_version) {
  const Destination there;
  Source source(there.address());
  const auto hello = source.hostb().hello();
  EXPECT_TRUE(hello) << hello.error().sentence();
}

TEST(PartnerClient, names_both_versions_when_the_destination_speaks_another) {
  OtherDaemon other;
  other.says.set_api(kPartnerApi + 6);
  other.says.set_host("hostb");
  const LoopbackServer server(other);
  const auto hello = Source(server.address()).hostb().hello();
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kIncompatible);
  EXPECT_THAT(hello.error().sentence(), HasSubstr("version " + std::to_string(kPartnerApi + 6)));
  EXPECT_THAT(hello.error().sentence(), HasSubstr("this host " + std::to_string(kPartnerApi)));
}

TEST(PartnerClient, hands_on_what_a_destination_says_that_refuses_its_version) {
  OtherDaemon other;
  other.status = {grpc::StatusCode::UNIMPLEMENTED,
                  "hostb speaks version 7 of the partner API, hosta speaks 1."};
  const LoopbackServer server(other);
  const auto hello = Source(server.address()).hostb().hello();
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kIncompatible);
  EXPECT_THAT(hello.error().sentence(),
              HasSubstr("hostb speaks version 7 of the partner API, hosta speaks 1."));
}

TEST(PartnerClient, says_that_a_server_without_this_api_is_of_another_version) {
  class Nothing : public v1::Partner::Service {
  } nothing;
  const LoopbackServer server(nothing);
  const auto hello = Source(server.address()).hostb().hello();
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kIncompatible);
  EXPECT_THAT(hello.error().sentence(), HasSubstr("Install the same version of rdmove on both hosts."));
}

TEST(PartnerClient, notices_that_it_calls_itself) {
  const Destination there;
  const auto hello = Source(there.address(), Destination::kInstance).hostb().hello();
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kConflict);
  EXPECT_THAT(hello.error().sentence(), HasSubstr(there.address() + " is this very host"));
}

TEST(PartnerClient, notices_that_another_host_answers_there) {
  OtherDaemon other;
  other.says.set_api(kPartnerApi);
  other.says.set_host("hostc");
  const LoopbackServer server(other);
  const auto hello = Source(server.address()).hostb().hello();
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kConflict);
  EXPECT_THAT(hello.error().sentence(), HasSubstr("the daemon there is host hostc"));
}

TEST(PartnerClient, says_that_nobody_answers) {
  std::string address;
  {
    OtherDaemon gone;
    address = LoopbackServer(gone).address();
  }
  const auto hello = Source(address).hostb().hello();
  ASSERT_FALSE(hello);
  EXPECT_THAT(hello.error().sentence(), HasSubstr("it does not answer"));
  EXPECT_THAT(hello.error().sentence(), HasSubstr("Is rdmoved running there"));
}

TEST(PartnerClient, knows_only_the_partners_of_its_configuration) {
  Source source("127.0.0.1:1");
  const auto found = source.partners().find(HostName("hostz"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().sentence(), HasSubstr("Add [partners.hostz]"));
}

}  // namespace
}  // namespace rdmove
