#include "coordinator/simulation/simulated_agent.hpp"

#include <fmt/format.h>

namespace rdmove::simulation {
namespace {

constexpr Duration kAskAgain = milliseconds(300);

class Link : public AgentLink, public std::enable_shared_from_this<Link> {
 public:
  Link(World& world, Host& host, DomainUuid uuid, std::function<void(std::function<void()>)> on_loop,
       milliseconds grace)
      : world_(world), host_(host), uuid_(std::move(uuid)), on_loop_(std::move(on_loop)), grace_(grace) {}

  void prepare(const MigrationId&, const std::vector<AgentDevice>&, Milliseconds deadline, bool force,
               Done<PrepareOutcome> done) override {
    ask<PrepareOutcome>("prepare", deadline, done, [force](World& world, Guest& guest, Host&) {
      std::optional<PrepareOutcome> outcome(PrepareOutcome{});
      // One that has prepared, and is asked again, gives the answer that it gave then.
      if (world.guest_troubles[guest.uuid].holds_at_prepare && !force && !guest.prepared) {
        outcome->holdouts.push_back({7, "holder", "mlx5_0"});
      } else {
        guest.prepared = true;
        world.say(guest.name + ": its applications have let go");
      }
      return outcome;
    });
  }
  void restore(const MigrationId&, const std::vector<AgentDevice>&, Milliseconds deadline,
               Done<RestoreOutcome> done) override {
    ask<RestoreOutcome>("restore", deadline, done, [](World& world, Guest& guest, Host& host) {
      const Domain& domain = *host.domain(guest.uuid);
      const VirtualFunction* vf = domain.device ? host.vf(domain.device->vf) : nullptr;
      if (vf == nullptr || vf->address != guest.address || vf->link_down)
        return std::optional<RestoreOutcome>();  // it waits for its device
      guest.prepared = false;
      world.say(guest.name + ": its applications have their device again");
      return std::optional(RestoreOutcome{});
    });
  }
  void holdouts(Milliseconds deadline, Done<std::vector<Holdout>> done) override {
    ask<std::vector<Holdout>>("holdouts", deadline, done, [](World& world, Guest& guest, Host&) {
      std::vector<Holdout> all;
      if (world.guest_troubles[guest.uuid].unplug == Unplug::kHeld) all.push_back({7, "holder", "mlx5_0"});
      return std::optional(all);
    });
  }
  void traffic(Milliseconds deadline, Done<Traffic> done) override {
    ask<Traffic>("traffic", deadline, done, [](World&, Guest&, Host&) { return std::optional(Traffic{}); });
  }
  void applications(Milliseconds deadline, Done<std::vector<AgentApplication>> done) override {
    ask<std::vector<AgentApplication>>("applications", deadline, done, [](World&, Guest&, Host&) {
      return std::optional(std::vector<AgentApplication>{});
    });
  }
  void query(const std::string& method, Milliseconds deadline, Done<std::string> done) override {
    ask<std::string>(method, deadline, done, [method](World&, Guest& guest, Host&) {
      if (method == "status")
        return std::optional(fmt::format(R"({{"devices":[{{"addresses":["{}/24"]}}]}})", guest.ip));
      if (method == "peers" && !guest.talks_to.empty())
        return std::optional(fmt::format(R"({{"peers":["{}"]}})", guest.talks_to));
      return std::optional<std::string>("{}");
    });
  }

 private:
  /// Asked again until the guest has an answer, or the deadline and the grace beyond it have passed.
  template <class T>
  void ask(std::string what, Milliseconds deadline, Done<T> done,
           std::function<std::optional<T>(World&, Guest&, Host&)> work) {
    const Duration until = world_.agenda.now() + deadline + grace_;
    tryToAsk<T>(std::move(what), until, std::move(done), std::move(work));
  }
  template <class T>
  void tryToAsk(std::string what, Duration until, Done<T> done,
                std::function<std::optional<T>(World&, Guest&, Host&)> work) {
    world_.agenda.after(
        world_.random.between(milliseconds(1), milliseconds(60)), [=, this, weak = weak_from_this()] {
          if (weak.expired()) return;
          if (agentHears(world_, host_, uuid_)) {
            const auto answer = work(world_, *world_.guest(uuid_), host_);
            if (answer && !std::exchange(world_.guest_troubles[uuid_].answer_lost, false)) {
              return world_.agenda.after(world_.random.between(milliseconds(1), milliseconds(30)),
                                         [this, weak, done, answer] {
                                           if (!weak.expired()) reply<T>(done, *answer);
                                         });
            }
          }
          if (world_.agenda.now() < until) {
            return world_.agenda.after(kAskAgain, [=, this] {
              if (!weak.expired()) tryToAsk<T>(what, until, done, work);
            });
          }
          reply<T>(done, failure(ErrorCode::kTimeout, "ask the agent for " + what, "it does not answer"));
        });
  }
  template <class T>
  void reply(const Done<T>& done, Result<T> result) {
    on_loop_([weak = weak_from_this(), done, result = std::move(result)] {
      if (!weak.expired()) done(result);
    });
  }

  World& world_;
  Host& host_;
  DomainUuid uuid_;
  std::function<void(std::function<void()>)> on_loop_;
  Milliseconds grace_;
};

/// What the desk owns; the link itself is shared with what it has under way.
class Owned : public AgentLink {
 public:
  explicit Owned(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  void prepare(const MigrationId& id, const std::vector<AgentDevice>& devices, Milliseconds deadline,
               bool force, Done<PrepareOutcome> done) override {
    link_->prepare(id, devices, deadline, force, std::move(done));
  }
  void restore(const MigrationId& id, const std::vector<AgentDevice>& devices, Milliseconds deadline,
               Done<RestoreOutcome> done) override {
    link_->restore(id, devices, deadline, std::move(done));
  }
  void holdouts(Milliseconds deadline, Done<std::vector<Holdout>> done) override {
    link_->holdouts(deadline, std::move(done));
  }
  void traffic(Milliseconds deadline, Done<Traffic> done) override {
    link_->traffic(deadline, std::move(done));
  }
  void applications(Milliseconds deadline, Done<std::vector<AgentApplication>> done) override {
    link_->applications(deadline, std::move(done));
  }
  void query(const std::string& method, Milliseconds deadline, Done<std::string> done) override {
    link_->query(method, deadline, std::move(done));
  }

 private:
  std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<AgentLink> SimulatedAgents::open(const DomainUuid& uuid) {
  return std::make_unique<Owned>(std::make_shared<Link>(world_, host_, uuid, on_loop_, grace_));
}

bool agentHears(const World&, Host& host, const DomainUuid& uuid) {
  const Domain* domain = host.domain(uuid);
  return domain != nullptr && domain->runs() && host.libvirtd_up && !host.troubles.agents_silent;
}

}  // namespace rdmove::simulation
