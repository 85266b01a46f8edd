#include "coordinator/simulation/simulated_partner.hpp"

#include "coordinator/simulation/coordinator_process.hpp"
#include "coordinator/simulation/follow_stream.hpp"

namespace rdmove::simulation {
namespace {

class Followed : public Following {
 public:
  explicit Followed(std::shared_ptr<FollowStream> stream) : stream_(std::move(stream)) {}
  ~Followed() override { stream_->close(); }
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;

 private:
  std::shared_ptr<FollowStream> stream_;
};

}  // namespace

template <class T>
Result<T> SimulatedPartner::call(const std::string& attempted,
                                 std::function<void(CoordinatorProcess&, Done<T>)> serve) {
  using Answer = std::shared_ptr<const Result<T>>;
  const auto result = std::make_shared<Answer>();
  world_.fibers.await([&](std::function<void()> wake) {
    const auto answer = [result, wake](const Answer& answered) {
      if (*result) return;
      *result = answered;
      wake();
    };
    const auto fail = [attempted](ErrorCode code, const char* why) -> Answer {
      return std::make_shared<const Result<T>>(failure(code, attempted, why));
    };
    world_.agenda.after(process_.config().timeouts.partner,
                        [answer, fail] { answer(fail(ErrorCode::kTimeout, "it does not answer in time")); });
    World& world = world_;
    Host& server = server_;
    world.network.send(client_.number, [&world, &server, answer, fail, serve = std::move(serve)] {
      const auto back = [&world, &server, answer](const Answer& said) {
        world.network.send(server.number, [answer, said] { answer(said); });
      };
      if (!server.coordinator) return back(fail(ErrorCode::kUnavailable, "nobody listens there"));
      server.coordinator->post([&server, serve, back, life = server.coordinator->life()] {
        // A daemon that was killed over its work says nothing more.
        serve(*server.coordinator, [&server, back, life](const Result<T>& said) {
          if (!life.expired() && !server.coordinator->dying()) back(std::make_shared<const Result<T>>(said));
        });
      });
    });
  });
  return **result;
}

Result<Partner*> SimulatedPartner::find(const HostName& name) {
  if (name == server_.name) return this;
  return failure(ErrorCode::kNotFound, "reach " + name.str(), "there is no such partner");
}

Result<void> SimulatedPartner::hello() {
  return call<void>("greet the partner", [](CoordinatorProcess&, Done<void> done) { done({}); });
}

Result<std::vector<Finding>> SimulatedPartner::examine(const Plan& plan, const SourceFacts&) {
  return call<std::vector<Finding>>(
      "ask the partner",
      [plan, source = client_.name](CoordinatorProcess& there, Done<std::vector<Finding>> done) {
        const auto leases = there.journal().leases();
        if (!leases) return done(tl::unexpected(leases.error()));
        std::vector<VfName> leased;
        for (const LeaseRecord& lease : *leases) leased.push_back(lease.vf);
        there.inWorker([&there, plan, source, leased, done] {
          done(there.examiner().examineArrival(plan, source, leased));
        });
      });
}

Result<HostRoom> SimulatedPartner::room() {
  return call<HostRoom>("ask the partner what room it has", [source = client_.name](CoordinatorProcess& there,
                                                                                    Done<HostRoom> done) {
    const auto leases = there.journal().leases();
    if (!leases) return done(tl::unexpected(leases.error()));
    std::vector<VfName> leased;
    for (const LeaseRecord& lease : *leases) leased.push_back(lease.vf);
    there.inWorker([&there, source, leased, done] { done(there.examiner().room(source, leased)); });
  });
}

Result<std::vector<LeasedVf>> SimulatedPartner::reserve(const Plan& plan, milliseconds hold) {
  return call<std::vector<LeasedVf>>(
      "reserve", [plan, hold](CoordinatorProcess& there, Done<std::vector<LeasedVf>> done) {
        Plan told = plan;
        told.options = {};  // the API does not carry them
        there.coordinator().reserve(std::move(told), hold, std::move(done));
      });
}

Result<void> SimulatedPartner::releaseIdentity(const MigrationId& id, const Traffic& before) {
  return call<void>("tell the partner that the identity is free",
                    [id, before](CoordinatorProcess& there, Done<void> done) {
                      done(there.coordinator().identityReleased(id, before));
                    });
}

Result<WithdrawAnswer> SimulatedPartner::withdraw(const MigrationId& id, bool source_runs) {
  return call<WithdrawAnswer>("take the reservation back",
                              [id, source_runs](CoordinatorProcess& there, Done<WithdrawAnswer> done) {
                                there.coordinator().withdraw(id, source_runs, std::move(done));
                              });
}

std::unique_ptr<Following> SimulatedPartner::follow(const MigrationId& id,
                                                    std::function<void(ArrivalReport)> report,
                                                    std::function<void(Error)> broken) {
  auto stream = std::make_shared<FollowStream>(
      world_, client_, id,
      // What holds the session may outlive the daemon that it was of.
      [&process = process_, life = process_.life()](std::function<void()> what) {
        if (!life.expired()) process.post(std::move(what));
      },
      std::move(report), std::move(broken));
  stream->open();
  return std::make_unique<Followed>(std::move(stream));
}

}  // namespace rdmove::simulation
