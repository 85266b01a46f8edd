// A Local service on a unix socket in a temporary directory, and rdmove run against it. A test sets what each
// call does. Owned by the test; the calls come from gRPC's threads.
#pragma once

#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "coordinator/cli/cli.hpp"
#include "coordinator/service/api/local.grpc.pb.h"

namespace rdmove::cli {

class FakeDaemon : private v1::Local::Service {
 public:
  using Updates = grpc::ServerWriter<v1::MigrationUpdate>;
  template <class Request, class Reply>
  using Call = std::function<grpc::Status(const Request&, Reply&)>;

  FakeDaemon();
  ~FakeDaemon() override;

  /// Ends every call and the server, as a daemon that dies.
  void die();
  const std::string& socket() const { return socket_; }

  std::function<grpc::Status(grpc::ServerContext&, const v1::MigrateRequest&, Updates&)> migrate;
  std::function<grpc::Status(grpc::ServerContext&, const v1::PrepareRequest&, Updates&)> prepare;
  std::function<grpc::Status(grpc::ServerContext&, const v1::EvacuateRequest&, Updates&)> evacuate;
  std::function<grpc::Status(grpc::ServerContext&, const v1::WatchRequest&, Updates&)> watch;
  Call<v1::EvacuateRequest, v1::EvacuationPlan> plan_evacuation;
  Call<v1::MigrateRequest, v1::ExamineReply> examine;
  Call<v1::ListRequest, v1::ListReply> list;
  Call<v1::ShowRequest, v1::ShowReply> show;
  Call<v1::ExportRequest, v1::ExportReply> exported;
  Call<v1::ListVfsRequest, v1::ListVfsReply> list_vfs;
  Call<v1::ShowVfRequest, v1::ShowVfReply> show_vf;
  Call<v1::CancelRequest, v1::CancelReply> cancel;
  Call<v1::ResolveRequest, v1::ResolveReply> resolve;
  Call<v1::TimelineRequest, v1::TimelineReply> timeline;
  Call<v1::QueryAgentRequest, v1::QueryAgentReply> agent;
  Call<v1::DefineRequest, v1::DefineReply> define;
  Call<v1::DoctorRequest, v1::DoctorReply> doctor;

 private:
  grpc::Status Migrate(grpc::ServerContext*, const v1::MigrateRequest*, Updates*) override;
  grpc::Status Prepare(grpc::ServerContext*, const v1::PrepareRequest*, Updates*) override;
  grpc::Status PlanEvacuation(grpc::ServerContext*, const v1::EvacuateRequest*, v1::EvacuationPlan*) override;
  grpc::Status Evacuate(grpc::ServerContext*, const v1::EvacuateRequest*, Updates*) override;
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*, Updates*) override;
  grpc::Status Examine(grpc::ServerContext*, const v1::MigrateRequest*, v1::ExamineReply*) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest*, v1::ListReply*) override;
  grpc::Status Show(grpc::ServerContext*, const v1::ShowRequest*, v1::ShowReply*) override;
  grpc::Status Export(grpc::ServerContext*, const v1::ExportRequest*, v1::ExportReply*) override;
  grpc::Status ListVfs(grpc::ServerContext*, const v1::ListVfsRequest*, v1::ListVfsReply*) override;
  grpc::Status ShowVf(grpc::ServerContext*, const v1::ShowVfRequest*, v1::ShowVfReply*) override;
  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelRequest*, v1::CancelReply*) override;
  grpc::Status Resolve(grpc::ServerContext*, const v1::ResolveRequest*, v1::ResolveReply*) override;
  grpc::Status GetTimeline(grpc::ServerContext*, const v1::TimelineRequest*, v1::TimelineReply*) override;
  grpc::Status QueryAgent(grpc::ServerContext*, const v1::QueryAgentRequest*, v1::QueryAgentReply*) override;
  grpc::Status Define(grpc::ServerContext*, const v1::DefineRequest*, v1::DefineReply*) override;
  grpc::Status Doctor(grpc::ServerContext*, const v1::DoctorRequest*, v1::DoctorReply*) override;

  std::string directory_;
  std::string socket_;
  std::unique_ptr<grpc::Server> server_;
};

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

/// rdmove ARGUMENTS --socket SOCKET, 100 columns, no terminal. `on_flush` sees all of the output so far, on
/// rdmove's own thread: what it does comes after rdmove has read and shown an update.
Ran run(const std::string& socket, std::vector<std::string> arguments,
        std::function<void(const std::string&)> on_flush = {});

/// An update of migration vm1-x from this host to hostb.
v1::MigrationUpdate updateOf(const std::string& phase, const std::string& message = "");
v1::MigrationUpdate finalOf(const std::string& outcome, const std::string& message = "");

}  // namespace rdmove::cli
