// The source's side of the partner API: what it makes of a destination that is not what the configuration
// says.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

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

/// A long way to an address on this machine: what is sent over it is not heard for 600 ms.
class LongWay {
 public:
  explicit LongWay(const std::string& address) {
    const auto port = static_cast<unsigned short>(std::stoi(address.substr(address.rfind(':') + 1)));
    acceptor_.async_accept(near_, [this, port](const boost::system::error_code& error) {
      if (error) return;
      delay_.expires_after(std::chrono::milliseconds(600));
      delay_.async_wait([this, port](const boost::system::error_code& cancelled) {
        if (cancelled) return;
        far_.connect({boost::asio::ip::address_v4::loopback(), port});
        pass(near_, far_, to_far_);
        pass(far_, near_, to_near_);
      });
    });
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~LongWay() {
    loop_.stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  using Buffer = std::array<char, 4096>;
  void pass(Socket& from, Socket& to, Buffer& buffer) {
    from.async_read_some(boost::asio::buffer(buffer),
                         [&](const boost::system::error_code& error, std::size_t size) {
                           boost::system::error_code ended = error;
                           if (!ended) boost::asio::write(to, boost::asio::buffer(buffer, size), ended);
                           if (!ended) pass(from, to, buffer);
                         });
  }

  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_{loop_, {boost::asio::ip::address_v4::loopback(), 0}};
  Socket near_{loop_}, far_{loop_};
  Buffer to_far_{}, to_near_{};
  boost::asio::steady_timer delay_{loop_};
  std::thread thread_;
};

TEST(PartnerClient, takes_its_time_to_connect_to_a_destination_far_away) {
  const Destination there;
  const LongWay way(there.address());
  Source source(way.address());
  const auto hello = source.hostb().hello();
  EXPECT_TRUE(hello) << hello.error().sentence();
}

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

TEST(PartnerRoom, is_what_the_destination_has_free_for_this_host) {
  Destination there;
  PartnerConfig hosta = there.config.partners[HostName("hosta")];
  hosta.pools = {PoolName("fabric"), PoolName("not-there")};
  there.config.partners[hosta.name] = hosta;
  ON_CALL(there.hypervisor, hostSize).WillByDefault(testing::Return(HostSize{16, 4096}));
  DomainStatus running;
  running.name = "vm9";
  running.uuid = DomainUuid("uuid-9");
  running.state = DomainState::kRunning;
  ON_CALL(there.hypervisor, list).WillByDefault(testing::Return(std::vector<DomainStatus>{running}));
  ON_CALL(there.hypervisor, xml)
      .WillByDefault(
          testing::Return(std::string("<domain><memory unit='KiB'>1024</memory><vcpu>3</vcpu></domain>")));
  Source here(there.address());
  const auto room = here.hostb().room();
  ASSERT_TRUE(room) << room.error().sentence();
  EXPECT_EQ(*room, (HostRoom{HostName("hostb"), {{PoolName("fabric"), 4}}, 4096, 16, 3}));
}

TEST(PartnerRoom, of_a_daemon_that_is_too_old_to_say_is_incompatible) {
  OtherDaemon old;
  LoopbackServer server(old);
  Source here(server.address());
  const auto room = here.hostb().room();
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, ErrorCode::kIncompatible);
  EXPECT_THAT(room.error().sentence(), HasSubstr("Install the same version"));
}

TEST(PartnerRoom, is_told_to_partners_alone) {
  Destination there;
  there.config.partners.clear();
  Source here(there.address());
  EXPECT_EQ(here.hostb().room().error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace rdmove
