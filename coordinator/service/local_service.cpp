#include "coordinator/service/local_service.hpp"

#include <memory>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/on_loop.hpp"
#include "coordinator/service/update_queue.hpp"

namespace rdmove {
namespace {

constexpr std::chrono::milliseconds kLookForCaller{500};

bool isFinal(const Update& update) {
  return update.record.outcome != Outcome::kRunning;
}

/// The departure's own word that it is ready: entering the phase says nothing yet, and what the arrival has
/// come to is no word of it.
bool isPreparedOrFinal(const Update& update) {
  const bool own_word = !update.message.empty() && update.partner_phase.empty();
  return isFinal(update) || (update.record.phase == "Prepared" && own_word);
}

/// A subscription that ends with the call, on the loop where it was made.
class Subscription {
 public:
  Subscription(Services& services, std::uint64_t key) : services_(services), key_(key) {}
  ~Subscription() {
    boost::asio::post(services_.loop,
                      [&bulletin = services_.bulletin, key = key_] { bulletin.unsubscribe(key); });
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  Services& services_;
  std::uint64_t key_;
};

/// Writes updates until `last` says so or the caller has gone; the migration goes on without a listener.
template <class Last>
grpc::Status stream(grpc::ServerContext& context, grpc::ServerWriter<v1::MigrationUpdate>& writer,
                    UpdateQueue& queue, Last last) {
  while (!context.IsCancelled()) {
    const auto update = queue.pop(kLookForCaller);
    if (!update) continue;
    v1::MigrationUpdate message = toMessage(*update);
    const bool end = last(*update);
    message.set_final(end);
    if (!writer.Write(message) || end) break;
  }
  return grpc::Status::OK;
}

}  // namespace

Result<Plan> LocalService::planOf(const v1::MigrateRequest& request) const {
  if (request.domain().empty())
    return failure(ErrorCode::kBadInput, "", "no domain is named", "Name the VM.");
  if (request.destination().empty()) {
    return failure(ErrorCode::kBadInput, "", "no destination is named", "Name a partner of rdmoved.toml.");
  }
  if (const std::string refusal = optionsRefusal(request.options()); !refusal.empty()) {
    return failure(ErrorCode::kBadInput, "", refusal, "See rdmove migrate --help.");
  }
  Plan plan;
  plan.domain = request.domain();
  plan.destination = HostName(request.destination());
  plan.options = fromMessage(request.options(), services_.config.timeouts.prepare);
  return plan;
}

grpc::Status LocalService::Examine(grpc::ServerContext*, const v1::MigrateRequest* request,
                                   v1::ExamineReply* reply) {
  const auto plan = planOf(*request);
  if (!plan) return toLocalStatus(plan.error());
  const Examination examination = examiner_.examine(*plan);
  for (const Finding& finding : examination.findings) *reply->add_findings() = toMessage(finding);
  if (examination.plan) *reply->mutable_plan() = toMessage(*examination.plan, examination.source_vfs);
  return grpc::Status::OK;
}

grpc::Status LocalService::Migrate(grpc::ServerContext* context, const v1::MigrateRequest* request,
                                   grpc::ServerWriter<v1::MigrationUpdate>* writer) {
  auto plan = planOf(*request);
  if (!plan) return toLocalStatus(plan.error());
  return depart(*context, std::move(*plan), *writer, isFinal);
}

grpc::Status LocalService::Prepare(grpc::ServerContext* context, const v1::PrepareRequest* request,
                                   grpc::ServerWriter<v1::MigrationUpdate>* writer) {
  v1::MigrateRequest like;
  like.set_domain(request->domain());
  like.set_destination(request->destination());
  like.mutable_options()->set_force(request->force());
  like.mutable_options()->set_prepare_deadline_ms(request->prepare_deadline_ms());
  auto plan = planOf(like);
  if (plan && std::chrono::milliseconds(request->hold_ms()) > std::chrono::hours(24))
    plan = failure(ErrorCode::kBadInput, "", "hold_ms is more than a day", "See rdmove prepare --help.");
  if (!plan) return toLocalStatus(plan.error());
  plan->mover = Mover::kAnother;
  if (request->hold_ms() > 0) plan->options.hold = std::chrono::milliseconds(request->hold_ms());
  return depart(*context, std::move(*plan), *writer, isPreparedOrFinal);
}

grpc::Status LocalService::depart(grpc::ServerContext& context, Plan plan,
                                  grpc::ServerWriter<v1::MigrationUpdate>& writer,
                                  bool (*last)(const Update&)) {
  const auto status = services_.hypervisor.find(plan.domain);
  if (!status) {
    if (status.error().code != ErrorCode::kNotFound) return toLocalStatus(status.error());
    return toLocalStatus(Error{ErrorCode::kNotFound, "",
                               "there is no domain " + plan.domain + " on " + services_.config.host.str(),
                               "See virsh list --all for the names on this host."});
  }
  plan.domain = status->name;
  plan.uuid = status->uuid;

  const auto queue = std::make_shared<UpdateQueue>();
  const auto key = onLoop(services_.loop, [this, queue, request = plan]() -> Result<std::uint64_t> {
    const auto id = coordinator_.depart(request);
    if (!id) return tl::unexpected(id.error());
    return services_.bulletin.subscribe([queue, id = *id](const Update& update) {
      if (update.record.id == id && update.record.role == Role::kDeparture) queue->push(update);
    });
  });
  if (!key) return toLocalStatus(key.error());
  const Subscription subscription(services_, *key);
  return stream(context, writer, *queue, last);
}

grpc::Status LocalService::Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                                  v1::CancelReply* reply) {
  const auto evacuated = evacuation(request->id());
  if (!evacuated) return toLocalStatus(evacuated.error());
  if (*evacuated) {
    const auto cancelled = onLoop(services_.loop, [this, &evacuated]() -> Result<bool> {
      const auto done = evacuations_.cancel(**evacuated);
      return done ? Result<bool>(true) : tl::unexpected(done.error());
    });
    if (!cancelled) return toLocalStatus(cancelled.error());
    reply->set_message((*evacuated)->str() + " begins no more migrations; those under way end.");
    return grpc::Status::OK;
  }
  const auto id = onLoop(services_.loop, [this, &request] { return coordinator_.cancel(request->id()); });
  if (!id) return toLocalStatus(id.error());
  reply->set_message(id->str() + " is being rolled back.");
  return grpc::Status::OK;
}

grpc::Status LocalService::Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                                 grpc::ServerWriter<v1::MigrationUpdate>* writer) {
  const auto evacuated = evacuation(request->id());
  if (!evacuated) return toLocalStatus(evacuated.error());
  if (*evacuated) return watchEvacuation(*context, **evacuated, *writer);
  const auto queue = std::make_shared<UpdateQueue>();
  const bool all = request->id().empty();
  const auto key = onLoop(services_.loop, [this, queue, &request, all]() -> Result<std::uint64_t> {
    if (all) {
      for (const MigrationRecord& record : coordinator_.running()) queue->push({record, {}, ""});
      return services_.bulletin.subscribe([queue](const Update& update) { queue->push(update); });
    }
    const auto record = coordinator_.find(request->id());
    if (!record) return tl::unexpected(record.error());
    queue->push({*record, {}, record->error});
    return services_.bulletin.subscribe([queue, id = record->id, role = record->role](const Update& update) {
      if (update.record.id == id && update.record.role == role) queue->push(update);
    });
  });
  if (!key) return toLocalStatus(key.error());
  const Subscription subscription(services_, *key);
  return stream(*context, *writer, *queue,
                [all](const Update& update) { return !all && isFinished(update.record.outcome); });
}

}  // namespace rdmove
