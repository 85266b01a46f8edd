// The calls of the local API about evacuations.
#include <memory>

#include "coordinator/service/convert.hpp"
#include "coordinator/service/convert_evacuation.hpp"
#include "coordinator/service/local_service.hpp"
#include "coordinator/service/on_loop.hpp"
#include "coordinator/service/update_queue.hpp"

namespace rdmove {
namespace {

constexpr std::chrono::milliseconds kLookForCaller{500};

using Queue = BoundedQueue<v1::MigrationUpdate>;

/// What one evacuation and its migrations say, put into a queue until this goes. Made on the loop.
class Listening {
 public:
  Listening(Services& services, Evacuations& evacuations, const EvacuationId& id,
            std::shared_ptr<Queue> queue)
      : services_(services), evacuations_(evacuations) {
    migrations_ = services.bulletin.subscribe([&evacuations, id, queue](const Update& update) {
      if (update.record.role != Role::kDeparture || !evacuations.moves(id, update.record.id)) return;
      queue->push(toMessage(update));
    });
    evacuation_ =
        evacuations.board().subscribe([id, queue, host = services.config.host](
                                          const Evacuations::Account& account, const std::string& message) {
          if (account.record.id == id) queue->push(updateOf(account, host, message));
        });
  }
  ~Listening() {
    boost::asio::post(services_.loop, [&bulletin = services_.bulletin, &evacuations = evacuations_,
                                       migrations = migrations_, evacuation = evacuation_] {
      bulletin.unsubscribe(migrations);
      evacuations.board().unsubscribe(evacuation);
    });
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Services& services_;
  Evacuations& evacuations_;
  std::uint64_t migrations_ = 0;
  std::uint64_t evacuation_ = 0;
};

grpc::Status stream(grpc::ServerContext& context, grpc::ServerWriter<v1::MigrationUpdate>& writer,
                    Queue& queue) {
  while (!context.IsCancelled()) {
    const auto update = queue.pop(kLookForCaller);
    if (update && (!writer.Write(*update) || update->final())) break;
  }
  return grpc::Status::OK;
}

/// Of one that is only planned.
Evacuations::Account asPlanned(const Evacuations::Draft& draft, const evacuation::Request& request) {
  return {EvacuationRecord{}, request, draft.members};
}

/// What is said when no VM has metadata: an empty host is no failure.
v1::MigrationUpdate nothingToMove(const HostName& host) {
  v1::MigrationUpdate update;
  update.mutable_migration()->set_role("evacuation");
  update.mutable_migration()->set_outcome(std::string(toString(EvacuationOutcome::kCompleted)));
  update.set_message("No VM that runs on " + host.str() + " has rdma metadata: nothing is to be moved.");
  update.set_final(true);
  return update;
}

std::string refusal(const v1::EvacuateRequest& request) {
  if (request.destinations_size() > 256) return "more than 256 destinations";
  return optionsRefusal(request.options());
}

}  // namespace

grpc::Status LocalService::PlanEvacuation(grpc::ServerContext*, const v1::EvacuateRequest* request,
                                          v1::EvacuationPlan* reply) {
  if (const std::string why = refusal(*request); !why.empty())
    return toLocalStatus(Error{ErrorCode::kBadInput, "", why, "See rdmove evacuate --help."});
  const auto wanted = fromMessage(*request, services_.config.timeouts.prepare);
  const auto draft = awaitLoop<Evacuations::Draft>(
      services_.loop, [this, wanted](std::function<void(Result<Evacuations::Draft>)> done) {
        evacuations_.plan(wanted, std::move(done));
      });
  if (!draft) return toLocalStatus(draft.error());
  *reply = toMessage(*draft, asPlanned(*draft, wanted), services_.config.host);
  return grpc::Status::OK;
}

grpc::Status LocalService::Evacuate(grpc::ServerContext* context, const v1::EvacuateRequest* request,
                                    grpc::ServerWriter<v1::MigrationUpdate>* writer) {
  if (const std::string why = refusal(*request); !why.empty())
    return toLocalStatus(Error{ErrorCode::kBadInput, "", why, "See rdmove evacuate --help."});
  const auto wanted = fromMessage(*request, services_.config.timeouts.prepare);
  const auto queue = std::make_shared<Queue>();
  const auto listening = awaitLoop<std::shared_ptr<Listening>>(
      services_.loop, [this, wanted, queue](std::function<void(Result<std::shared_ptr<Listening>>)> done) {
        evacuations_.begin(wanted, [this, wanted, queue, done](Result<Evacuations::Begun> begun) {
          if (!begun) return done(tl::unexpected(begun.error()));
          const HostName& host = services_.config.host;
          auto account = begun->id.empty() ? Result<Evacuations::Account>(asPlanned(begun->draft, wanted))
                                           : evacuations_.account(begun->id);
          if (!account) return done(tl::unexpected(account.error()));
          auto first = begun->id.empty() ? nothingToMove(host) : updateOf(*account, host, "");
          // Of an empty host there is a plan only if it says something more.
          if (!begun->id.empty() || !begun->draft.findings.empty())
            *first.mutable_plan() = toMessage(begun->draft, *account, host);
          queue->push(std::move(first));
          done(begun->id.empty() ? nullptr
                                 : std::make_shared<Listening>(services_, evacuations_, begun->id, queue));
        });
      });
  if (!listening) return toLocalStatus(listening.error());
  return stream(*context, *writer, *queue);
}

Result<std::optional<EvacuationId>> LocalService::evacuation(const std::string& id) const {
  return onLoop(services_.loop, [this, &id]() -> Result<std::optional<EvacuationId>> {
    const auto found = evacuations_.find(id);
    if (!found || !*found || (*found)->str() == id) return found;
    const auto migration = coordinator_.find(id);
    if (!migration && migration.error().code == ErrorCode::kNotFound) return found;
    return failure(ErrorCode::kBadInput, "", id + " fits an evacuation and a migration",
                   "Give more of the id; see rdmove list.");
  });
}

grpc::Status LocalService::watchEvacuation(grpc::ServerContext& context, const EvacuationId& id,
                                           grpc::ServerWriter<v1::MigrationUpdate>& writer) {
  const auto queue = std::make_shared<Queue>();
  const auto listening = onLoop(services_.loop, [this, &id, queue]() -> Result<std::shared_ptr<Listening>> {
    const auto account = evacuations_.account(id);
    if (!account) return tl::unexpected(account.error());
    const bool over = account->record.outcome != EvacuationOutcome::kRunning;
    queue->push(updateOf(*account, services_.config.host,
                         over ? evacuation::closingWords(account->record, account->members) : ""));
    for (const MigrationRecord& record : coordinator_.running()) {
      if (record.role == Role::kDeparture && evacuations_.moves(id, record.id))
        queue->push(toMessage(Update{record, {}, ""}));
    }
    return std::make_shared<Listening>(services_, evacuations_, id, queue);
  });
  if (!listening) return toLocalStatus(listening.error());
  return stream(context, writer, *queue);
}

grpc::Status LocalService::showEvacuation(const EvacuationId& id, v1::ShowReply& reply) const {
  const auto account = onLoop(services_.loop, [this, &id] { return evacuations_.account(id); });
  if (!account) return toLocalStatus(account.error());
  *reply.mutable_evacuation() = toMessage(*account, services_.config.host);
  return grpc::Status::OK;
}

}  // namespace rdmove
