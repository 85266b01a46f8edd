#include "coordinator/service/partner_client.hpp"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <boost/asio/post.hpp>

#include <atomic>
#include <map>
#include <thread>

#include "coordinator/service/api/partner.grpc.pb.h"
#include "coordinator/service/convert.hpp"
#include "coordinator/service/tls.hpp"

namespace rdmove {
namespace {

std::int64_t microseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

/// Reads the stream on a thread of its own; destroying it cancels the call and joins.
class GrpcFollowing : public Following {
 public:
  GrpcFollowing(v1::Partner::Stub& stub, boost::asio::io_context& loop, const MigrationId& id,
                std::function<void(ArrivalReport)> report, std::function<void(Error)> broken)
      : loop_(loop), alive_(std::make_shared<std::atomic<bool>>(true)) {
    thread_ = std::thread([this, &stub, id, report = std::move(report), broken = std::move(broken)] {
      v1::FollowRequest request;
      request.set_migration(id.str());
      const auto reader = stub.Follow(&context_, request);
      v1::ArrivalReport message;
      while (reader->Read(&message)) {
        post([report, told = fromMessage(message)] { report(told); });
      }
      const grpc::Status status = reader->Finish();
      post([broken, error = fromStatus(status, "follow " + id.str())] { broken(error); });
    });
  }
  ~GrpcFollowing() override {
    alive_->store(false);
    context_.TryCancel();
    thread_.join();
  }

 private:
  template <class Call>
  void post(Call call) {
    boost::asio::post(loop_, [alive = alive_, call = std::move(call)] {
      if (alive->load()) call();
    });
  }

  boost::asio::io_context& loop_;
  std::shared_ptr<std::atomic<bool>> alive_;
  grpc::ClientContext context_;
  std::thread thread_;
};

class GrpcPartner : public Partner {
 public:
  GrpcPartner(const Config& config, PartnerConfig partner, std::string instance,
              const std::shared_ptr<grpc::Channel>& channel, boost::asio::io_context& loop)
      : config_(config),
        partner_(std::move(partner)),
        instance_(std::move(instance)),
        stub_(v1::Partner::NewStub(channel)),
        loop_(loop) {}

  Result<void> hello() override {
    v1::HelloRequest request;
    request.set_api(kPartnerApi);
    request.set_host(config_.host.str());
    request.set_software("rdmove " RDMOVE_VERSION);
    request.set_instance(instance_);
    v1::HelloReply reply;
    const auto called = call("reach " + partner_.name.str(), &v1::Partner::Stub::Hello, request, reply);
    if (!called) return called;
    if (reply.instance() == instance_) {
      return failure(ErrorCode::kConflict, "reach " + partner_.name.str(),
                     partner_.address + " is this very host", "Correct its address in rdmoved.toml.");
    }
    if (reply.api() != kPartnerApi) {
      return failure(
          ErrorCode::kIncompatible, "reach " + partner_.name.str(),
          fmt::format("it speaks version {} of the partner API, this host {}", reply.api(), kPartnerApi),
          "Install the same version of rdmove on both hosts.");
    }
    if (reply.host() != partner_.name.str()) {
      return failure(ErrorCode::kConflict, "reach " + partner_.name.str(),
                     "the daemon there is host " + reply.host(),
                     "Make the name in [partners] and [daemon] host agree.");
    }
    return {};
  }

  Result<std::vector<Finding>> examine(const Plan& plan, const SourceFacts& facts) override {
    v1::PartnerExamineRequest request;
    request.set_domain(plan.domain);
    request.set_uuid(plan.uuid.str());
    request.set_source_host(config_.host.str());
    for (const MovingVf& vf : plan.vfs) *request.add_vfs() = toMessage(vf);
    for (const Adapter& adapter : facts.adapters) *request.add_adapters() = toMessage(adapter);
    if (!facts.machine.machine.empty()) *request.mutable_machine() = toMessage(facts.machine);
    if (facts.clock) request.set_wall_us(microseconds(*facts.clock));
    v1::PartnerExamineReply reply;
    if (auto called = call("ask " + partner_.name.str(), &v1::Partner::Stub::Examine, request, reply);
        !called) {
      return tl::unexpected(called.error());
    }
    std::vector<Finding> findings;
    for (const v1::Finding& finding : reply.findings()) findings.push_back(fromMessage(finding));
    return findings;
  }

  Result<HostRoom> room() override {
    v1::RoomRequest request;
    request.set_source_host(config_.host.str());
    v1::RoomReply reply;
    if (auto called = call("ask " + partner_.name.str() + " what room it has", &v1::Partner::Stub::Room,
                           request, reply);
        !called) {
      return tl::unexpected(called.error());
    }
    HostRoom room;
    room.host = partner_.name;
    for (const auto& [pool, free] : reply.free_vfs()) room.free_vfs[PoolName(pool)] = free;
    room.memory_kib = reply.memory_kib();
    room.cpus = reply.cpus();
    room.vcpus = reply.vcpus();
    return room;
  }

  Result<std::vector<LeasedVf>> reserve(const Plan& plan, std::chrono::milliseconds hold) override {
    v1::ReserveRequest request;
    request.set_migration(plan.id.str());
    request.set_domain(plan.domain);
    request.set_uuid(plan.uuid.str());
    request.set_persistent(plan.persistent);
    request.set_source_host(config_.host.str());
    request.set_another_mover(plan.mover == Mover::kAnother);
    request.set_hold_ms(static_cast<unsigned>(hold.count()));
    for (const MovingVf& vf : plan.vfs) *request.add_vfs() = toMessage(vf);
    v1::ReserveReply reply;
    if (auto called = call("reserve at " + partner_.name.str(), &v1::Partner::Stub::Reserve, request, reply);
        !called) {
      return tl::unexpected(called.error());
    }
    if (reply.granted_size() != static_cast<int>(plan.vfs.size())) {
      return failure(ErrorCode::kInternal, "reserve at " + partner_.name.str(),
                     fmt::format("it granted {} VFs for {}", reply.granted_size(), plan.vfs.size()));
    }
    std::vector<LeasedVf> leases;
    for (int i = 0; i < reply.granted_size(); ++i) {
      const v1::GrantedVf& granted = reply.granted(i);
      leases.push_back({DeviceAlias(granted.alias()), plan.vfs[static_cast<std::size_t>(i)].declaration.pool,
                        VfName(granted.vf()), granted.device_xml()});
    }
    return leases;
  }

  Result<void> releaseIdentity(const MigrationId& id, const Traffic& before) override {
    v1::ReleaseIdentityRequest request;
    request.set_migration(id.str());
    for (const DeviceTraffic& device : before) *request.add_traffic_before() = toMessage(device);
    v1::ReleaseIdentityReply reply;
    return call("tell " + partner_.name.str() + " that the identity is free",
                &v1::Partner::Stub::ReleaseIdentity, request, reply);
  }

  Result<WithdrawAnswer> withdraw(const MigrationId& id, bool source_runs) override {
    v1::WithdrawRequest request;
    request.set_migration(id.str());
    request.set_source_runs(source_runs);
    v1::WithdrawReply reply;
    if (auto called = call("take the reservation back at " + partner_.name.str(),
                           &v1::Partner::Stub::Withdraw, request, reply);
        !called) {
      return tl::unexpected(called.error());
    }
    return WithdrawAnswer{reply.running_here(), reply.state(), reply.ran_here(), reply.may_have_run()};
  }

  std::unique_ptr<Following> follow(const MigrationId& id, std::function<void(ArrivalReport)> report,
                                    std::function<void(Error)> broken) override {
    return std::make_unique<GrpcFollowing>(*stub_, loop_, id, std::move(report), std::move(broken));
  }

 private:
  template <class Request, class Reply>
  Result<void> call(const std::string& attempted,
                    grpc::Status (v1::Partner::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                    const Request& request, Reply& reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + config_.timeouts.partner);
    const grpc::Status status = (stub_.get()->*method)(&context, request, &reply);
    if (status.ok()) return {};
    return tl::unexpected(fromStatus(status, attempted));
  }

  const Config& config_;
  PartnerConfig partner_;
  std::string instance_;
  std::unique_ptr<v1::Partner::Stub> stub_;
  boost::asio::io_context& loop_;
};

class GrpcPartners : public Partners {
 public:
  explicit GrpcPartners(const Config& config) : config_(config) {}
  void add(const HostName& name, std::unique_ptr<Partner> partner) {
    partners_.emplace(name, std::move(partner));
  }

  Result<Partner*> find(const HostName& name) override {
    const auto partner = partners_.find(name);
    if (partner != partners_.end()) return partner->second.get();
    return failure(ErrorCode::kNotFound, "reach " + name.str(),
                   config_.host.str() + " has no partner " + name.str() + " in its configuration",
                   "Add [partners." + name.str() + "] to rdmoved.toml, or name another destination.");
  }

 private:
  const Config& config_;
  std::map<HostName, std::unique_ptr<Partner>> partners_;
};

grpc::ChannelArguments channelArguments(const PartnerConfig& partner, const Config& config) {
  grpc::ChannelArguments arguments;
  if (!config.insecure) arguments.SetSslTargetNameOverride(partner.san);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A partner that was restarted is found again at once, not after gRPC's two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Unlike its name, this is how long one attempt may take, TLS handshake included (grpc: subchannel.cc).
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(config.timeouts.partner.count()));
  // A stream over a cut link ends within seconds.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return arguments;
}

}  // namespace

Result<std::unique_ptr<Partners>> makePartners(const Config& config, const std::string& instance,
                                               boost::asio::io_context& loop) {
  const auto credentials = clientCredentials(config);
  if (!credentials) return tl::unexpected(credentials.error());
  auto partners = std::make_unique<GrpcPartners>(config);
  for (const auto& [name, partner] : config.partners) {
    const auto channel =
        grpc::CreateCustomChannel(partner.address, *credentials, channelArguments(partner, config));
    partners->add(name, std::make_unique<GrpcPartner>(config, partner, instance, channel, loop));
  }
  return partners;
}

}  // namespace rdmove
