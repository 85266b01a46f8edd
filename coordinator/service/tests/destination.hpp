// A destination in one process: the partner API's real server on 127.0.0.1, the real coordinator and SQLite
// journal, on a hypervisor that knows no domain and a pool "fabric" of four slots on br0.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <stdlib.h>

#include <boost/asio/executor_work_guard.hpp>
#include <filesystem>
#include <thread>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/journal/sqlite_journal.hpp"
#include "coordinator/service/on_loop.hpp"
#include "coordinator/service/partner_service.hpp"

namespace rdmove {

class FakeHypervisor : public Hypervisor {
 public:
  FakeHypervisor() {
    ON_CALL(*this, find).WillByDefault([](const std::string& name) -> Result<DomainStatus> {
      return failure(ErrorCode::kNotFound, "find " + name, "there is no such domain");
    });
  }
  MOCK_METHOD(Result<DomainStatus>, find, (const std::string&), (override));
  MOCK_METHOD(Result<std::vector<DomainStatus>>, list, (), (override));
  MOCK_METHOD(Result<std::string>, xml, (const DomainUuid&, XmlKind), (override));
  MOCK_METHOD(Result<void>, define, (const std::string&), (override));
  MOCK_METHOD(Result<std::optional<std::string>>, metadata, (const DomainUuid&, XmlKind), (override));
  MOCK_METHOD(Result<void>, setMetadata, (const DomainUuid&, XmlKind, const std::optional<std::string>&),
              (override));
  MOCK_METHOD(Result<void>, detach, (const DomainUuid&, const DeviceAlias&), (override));
  MOCK_METHOD(Result<void>, attach, (const DomainUuid&, const std::string&), (override));
  MOCK_METHOD(Result<void>, migrate, (const MigrationRequest&), (override));
  MOCK_METHOD(Result<void>, startPostcopy, (const DomainUuid&), (override));
  MOCK_METHOD(Result<void>, abortJob, (const DomainUuid&), (override));
  MOCK_METHOD(Result<JobProgress>, progress, (const DomainUuid&), (override));
  MOCK_METHOD(Result<void>, resume, (const DomainUuid&), (override));
  MOCK_METHOD(Result<void>, suspend, (const DomainUuid&), (override));
  MOCK_METHOD(Result<void>, destroy, (const DomainUuid&), (override));
  MOCK_METHOD(Result<std::unique_ptr<ByteChannel>>, openChannel,
              (const DomainUuid&, const std::string&, ChannelListener&), (override));
  MOCK_METHOD(Result<HostSize>, hostSize, (), (override));
  MOCK_METHOD(Result<std::string>, hostCpu, (), (override));
  MOCK_METHOD(Result<MachineVerdict>, judge, (const GuestMachine&), (override));
  MOCK_METHOD(Result<std::string>, version, (), (override));
};

class FakeFabric : public Fabric {
 public:
  FakeFabric() {
    ON_CALL(*this, vfs).WillByDefault([] {
      std::vector<VfInfo> all;
      for (const char* name : {"br0#0", "br0#1", "br0#2", "br0#3"}) {
        all.push_back({VfName(name), PoolName("fabric"), "bridge", "br0", std::nullopt, "", std::nullopt});
      }
      return Result<std::vector<VfInfo>>(all);
    });
    ON_CALL(*this, hasPool).WillByDefault([](const PoolName& pool) { return pool.str() == "fabric"; });
    ON_CALL(*this, softRoce).WillByDefault(testing::Return(true));
    ON_CALL(*this, bind).WillByDefault([](const VfName&, const MovingVf& vf) {
      return bindToBridge(vf.device_xml, "br0");
    });
    ON_CALL(*this, planIdentity).WillByDefault(testing::Return(IdentityRecord()));
  }
  MOCK_METHOD(Result<std::vector<VfInfo>>, vfs, (), (override));
  MOCK_METHOD(bool, hasPool, (const PoolName&), (const, override));
  MOCK_METHOD(bool, softRoce, (const PoolName&), (const, override));
  MOCK_METHOD(Result<std::string>, bind, (const VfName&, const MovingVf&), (override));
  MOCK_METHOD(Result<IdentityRecord>, planIdentity,
              (const VfName&, const MovingVf&, const std::optional<IdentityRecord>&), (override));
  MOCK_METHOD(Result<void>, stageIdentity, (const VfName&, const MovingVf&, const IdentityRecord&),
              (override));
  MOCK_METHOD(Result<void>, giveIdentity, (const VfName&, const MovingVf&, const IdentityRecord&, Attached),
              (override));
  MOCK_METHOD(Result<void>, takeIdentity,
              (const VfName&, const Identity&, const std::optional<IdentityRecord>&), (override));
  MOCK_METHOD(IdentityRecord, recordOf, (const VfName&, const Identity&), (override));
  MOCK_METHOD(Words, wordsOf, (const std::string&), (override));
  MOCK_METHOD(Result<std::vector<PfInfo>>, pfs, (), (override));
  MOCK_METHOD(Result<VfDetails>, look, (const VfName&), (override));
  MOCK_METHOD(Result<VfName>, locate, (const PoolName&, const std::string&), (override));
};

/// Nobody here talks to a guest or to a third host.
class NoAgents : public AgentLinks {
 public:
  std::unique_ptr<AgentLink> open(const DomainUuid&) override { return nullptr; }
};
class NoPartners : public Partners {
 public:
  Result<Partner*> find(const HostName& name) override {
    return failure(ErrorCode::kNotFound, "reach " + name.str(), "there is no partner here");
  }
};

class StateDir {
 public:
  StateDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-service-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~StateDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StateDir(const StateDir&) = delete;
  StateDir& operator=(const StateDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A gRPC server of `service` on a free port of the loopback, ended with this.
class LoopbackServer {
 public:
  explicit LoopbackServer(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  ~LoopbackServer() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

/// hostb, which knows hosta and lets it use pool "fabric".
class Destination {
 public:
  static constexpr const char* kInstance = "instance-of-hostb";

  Destination() {
    config.host = HostName("hostb");
    config.insecure = true;
    PartnerConfig hosta;
    hosta.name = HostName("hosta");
    hosta.pools = {PoolName("fabric")};
    config.partners[hosta.name] = hosta;
    journal_ = std::move(openJournal(dir_.path() / "journal.db", clock_, config.host).value());
    services_.emplace(Services{loop_, session_workers_, timers_, hypervisor, fabric, *journal_, agents_,
                               partners_, bulletin_, clock_, config});
    examiner_.emplace(loop_, hypervisor, fabric, partners_, agents_, config);
    coordinator_.emplace(*services_, *examiner_);
    service_.emplace(*services_, *coordinator_, *examiner_, kInstance);
    server_.emplace(*service_);
    thread_ = std::thread([this] { loop_.run(); });
    stub = v1::Partner::NewStub(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }
  ~Destination() {
    server_.reset();
    workers_.join();
    loop_.stop();
    thread_.join();
  }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  std::string address() const { return server_->address(); }

  template <class Request, class Reply>
  grpc::Status call(grpc::Status (v1::Partner::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                    const Request& request, Reply& reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    return (stub.get()->*method)(&context, request, &reply);
  }

  // What is in the journal, asked on its own thread.
  std::vector<MigrationRecord> migrations() {
    return onLoop(loop_, [this] { return journal_->list(100); }).value();
  }
  std::vector<LeaseRecord> leases() {
    return onLoop(loop_, [this] { return journal_->leases(); }).value();
  }

  void keepVf(const VfRecord& record) {
    const auto kept =
        onLoop(loop_, [this, &record] { return journal_->keepVf(MigrationId("earlier"), record); });
    EXPECT_TRUE(kept) << kept.error().sentence();
  }
  Coordinator& coordinator() { return *coordinator_; }
  boost::asio::io_context& loop() { return loop_; }
  std::vector<VfRecord> vfRecords() {
    return onLoop(loop_, [this] { return journal_->vfRecords(); }).value();
  }

  std::vector<FactRecord> facts(const std::string& migration) {
    return onLoop(loop_,
                  [this, &migration] { return journal_->facts(MigrationId(migration), Role::kArrival); })
        .value();
  }

  Config config;
  testing::NiceMock<FakeHypervisor> hypervisor;
  testing::NiceMock<FakeFabric> fabric;
  std::unique_ptr<v1::Partner::Stub> stub;

 private:
  StateDir dir_;
  SystemClock clock_;
  std::unique_ptr<Journal> journal_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(loop_);
  boost::asio::thread_pool workers_{2};
  PoolWorkers session_workers_{workers_};
  LoopTimers timers_{loop_};
  NoAgents links_;
  AgentDesk agents_{links_};
  NoPartners partners_;
  Bulletin bulletin_;
  std::optional<Services> services_;
  std::optional<Examiner> examiner_;
  std::optional<Coordinator> coordinator_;
  std::optional<PartnerService> service_;
  std::optional<LoopbackServer> server_;
  std::thread thread_;
};

}  // namespace rdmove
