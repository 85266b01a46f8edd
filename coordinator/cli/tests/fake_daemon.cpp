#include "coordinator/cli/tests/fake_daemon.hpp"

#include <grpcpp/server_builder.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

namespace rdmove::cli {

FakeDaemon::FakeDaemon() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rdmove-cli-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
  directory_ = pattern;
  socket_ = directory_ + "/s";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("cannot listen on " + socket_);
}

FakeDaemon::~FakeDaemon() {
  die();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void FakeDaemon::die() {
  server_->Shutdown(std::chrono::system_clock::now());
}

// What a test did not set is UNIMPLEMENTED, as in a daemon that is older.
#define ANSWER(hook)                                                            \
  {                                                                             \
    if (!hook) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set"); \
    return hook(*request, *reply);                                              \
  }

grpc::Status FakeDaemon::Examine(grpc::ServerContext*, const v1::MigrateRequest* request,
                                 v1::ExamineReply* reply)
    ANSWER(examine) grpc::Status FakeDaemon::List(grpc::ServerContext*, const v1::ListRequest* request,
                                                  v1::ListReply* reply)
        ANSWER(list) grpc::Status FakeDaemon::ListVfs(grpc::ServerContext*, const v1::ListVfsRequest* request,
                                                      v1::ListVfsReply* reply)
            ANSWER(list_vfs) grpc::Status FakeDaemon::Cancel(grpc::ServerContext*,
                                                             const v1::CancelRequest* request,
                                                             v1::CancelReply* reply)
                ANSWER(cancel) grpc::Status FakeDaemon::GetTimeline(grpc::ServerContext*,
                                                                    const v1::TimelineRequest* request,
                                                                    v1::TimelineReply* reply)
                    ANSWER(timeline) grpc::Status FakeDaemon::QueryAgent(grpc::ServerContext*,
                                                                         const v1::QueryAgentRequest* request,
                                                                         v1::QueryAgentReply* reply)
                        ANSWER(agent) grpc::Status
    FakeDaemon::Define(grpc::ServerContext*, const v1::DefineRequest* request, v1::DefineReply* reply)
        ANSWER(define) grpc::Status FakeDaemon::Doctor(grpc::ServerContext*, const v1::DoctorRequest* request,
                                                       v1::DoctorReply* reply) ANSWER(doctor)
            grpc::Status FakeDaemon::Resolve(grpc::ServerContext*, const v1::ResolveRequest* request,
                                             v1::ResolveReply* reply) ANSWER(resolve)
#undef ANSWER

            grpc::Status FakeDaemon::ShowVf(grpc::ServerContext*, const v1::ShowVfRequest* request,
                                v1::ShowVfReply* reply) {
  if (!show_vf) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set");
  return show_vf(*request, *reply);
}

grpc::Status FakeDaemon::Show(grpc::ServerContext*, const v1::ShowRequest* request, v1::ShowReply* reply) {
  return show ? show(*request, *reply) : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set");
}
grpc::Status FakeDaemon::Export(grpc::ServerContext*, const v1::ExportRequest* request, v1::ExportReply* reply) {
  return exported ? exported(*request, *reply) : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set");
}
grpc::Status FakeDaemon::Migrate(grpc::ServerContext* context, const v1::MigrateRequest* request,
                                             Updates* updates) {
  return migrate(*context, *request, *updates);
}

grpc::Status FakeDaemon::Prepare(grpc::ServerContext* context, const v1::PrepareRequest* request,
                                 Updates* updates) {
  return prepare(*context, *request, *updates);
}

grpc::Status FakeDaemon::PlanEvacuation(grpc::ServerContext*, const v1::EvacuateRequest* request,
                                        v1::EvacuationPlan* reply) {
  return plan_evacuation ? plan_evacuation(*request, *reply)
                         : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set");
}

grpc::Status FakeDaemon::Evacuate(grpc::ServerContext* context, const v1::EvacuateRequest* request,
                                  Updates* updates) {
  return evacuate(*context, *request, *updates);
}

grpc::Status FakeDaemon::Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                               Updates* updates) {
  return watch(*context, *request, *updates);
}

namespace {

class WatchedBuffer : public std::stringbuf {
 public:
  explicit WatchedBuffer(std::function<void(const std::string&)> on_flush) : on_flush_(std::move(on_flush)) {}
  int sync() override {
    if (on_flush_) on_flush_(str());
    return 0;
  }

 private:
  std::function<void(const std::string&)> on_flush_;
};

}  // namespace

Ran run(const std::string& socket, std::vector<std::string> arguments,
        std::function<void(const std::string&)> on_flush) {
  WatchedBuffer buffer(std::move(on_flush));
  std::ostream out(&buffer);
  std::ostringstream err;
  arguments.insert(arguments.begin(), {"--socket", socket});
  Ran ran;
  ran.code = static_cast<int>(runCli(arguments, {out, err}));
  ran.out = buffer.str();
  ran.err = err.str();
  return ran;
}

v1::MigrationUpdate updateOf(const std::string& phase, const std::string& message) {
  v1::MigrationUpdate update;
  update.mutable_migration()->set_id("vm1-x");
  update.mutable_migration()->set_domain("vm1");
  update.mutable_migration()->set_partner("hostb");
  update.mutable_migration()->set_phase(phase);
  update.mutable_migration()->set_outcome("Running");
  update.set_message(message);
  return update;
}

v1::MigrationUpdate finalOf(const std::string& outcome, const std::string& message) {
  v1::MigrationUpdate update = updateOf(outcome, message);
  update.mutable_migration()->set_outcome(outcome);
  update.set_final(true);
  return update;
}

}  // namespace rdmove::cli
