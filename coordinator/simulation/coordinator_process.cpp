#include "coordinator/simulation/coordinator_process.hpp"

#include <stdexcept>

namespace rdmove::simulation {
namespace {

/// Preflight waits for the agent on a thread of its own; here that is a fiber.
class PatientExaminer : public Examiner {
 public:
  PatientExaminer(World& world, Host& host, boost::asio::io_context& loop, Hypervisor& hypervisor,
                  Fabric& fabric, Partners& partners, AgentDesk& agents, const Config& config)
      : Examiner(loop, hypervisor, fabric, partners, agents, config), world_(world), host_(host) {}

 protected:
  Result<std::vector<Holdout>> holdoutsIn(const DomainUuid& uuid) override {
    world_.fibers.sleep(milliseconds(20));
    if (agentHears(world_, host_, uuid)) return std::vector<Holdout>();
    world_.fibers.sleep(seconds(5));
    return failure(ErrorCode::kTimeout, "ask the agent", "it does not answer");
  }

 private:
  World& world_;
  Host& host_;
};

Config configOf(World& world, Host& host) {
  Config config;
  config.host = host.name;
  PoolConfig pool;
  pool.name = kPool;
  pool.kind = PoolConfig::Kind::kSriov;
  config.pools[kPool] = pool;
  PartnerConfig partner;
  partner.name = world.other(host).name;
  partner.libvirt_uri = "simulated://" + partner.name.str();
  partner.pools = {kPool};
  config.partners[partner.name] = partner;
  return config;
}

}  // namespace

Moment CoordinatorProcess::HostClock::now() const {
  const auto up = world_.agenda.now() + seconds(1000 * (1 + host_.number));
  return {up, std::chrono::system_clock::time_point(seconds(1800000000)) + world_.agenda.now()};
}

std::string CoordinatorProcess::HostClock::bootId() const {
  return host_.name.str() + "-" + std::to_string(host_.boots);
}

CoordinatorProcess::CoordinatorProcess(World& world, Host& host, const JournalFile& journal, FatalWrite fatal,
                                       Hooks hooks)
    : world_(world),
      host_(host),
      fatal_(fatal),
      config_(configOf(world, host)),
      clock_(world, host),
      libvirt_(world, host),
      fabric_(world, host),
      partner_(world, host, *this),
      links_(
          world, host, [this](std::function<void()> what) { post(std::move(what)); }, config_.timeouts.agent),
      agents_(links_) {
  auto opened = openJournal(journal.path, clock_, host.name, journal.room);
  if (!opened) throw std::runtime_error(opened.error().sentence());
  journal_ = std::make_unique<SimulatedJournal>(std::move(*opened), watchJournal(std::move(hooks)));
  services_.emplace(Services{loop_, *this, *this, libvirt_, fabric_, *journal_, agents_, partner_, bulletin_,
                             clock_, config_, [](const PoolName&) { return std::nullopt; },
                             [](Role, const std::string&) {},
                             [&world] { return static_cast<unsigned>(world.random.next()); }});
  examiner_ =
      std::make_unique<PatientExaminer>(world, host, loop_, libvirt_, fabric_, partner_, agents_, config_);
  coordinator_ = std::make_unique<Coordinator>(*services_, *examiner_);
  if (auto recovered = coordinator_->recover(); !recovered && !dying_)
    throw std::runtime_error(recovered.error().sentence());
  evacuations_ = std::make_unique<Evacuations>(
      *services_, [this](const Plan& plan) { return coordinator_->depart(plan); },
      [this] { return coordinator_->running(); });
  if (auto recovered = evacuations_->recover(); !recovered && !dying_)
    throw std::runtime_error(recovered.error().sentence());
}

CoordinatorProcess::~CoordinatorProcess() {
  dying_ = true;
  life_.reset();
  world_.fibers.kill(this);
}

SimulatedJournal::Watch CoordinatorProcess::watchJournal(Hooks hooks) {
  SimulatedJournal::Watch watch;
  watch.dead = [this] { return dying_; };
  watch.full = [this] { return host_.troubles.journal_full; };
  watch.before_write = [this] {
    if (fatal_.number == 1 && !fatal_.durable) die();
  };
  watch.after_write = [this] {
    if (fatal_.number == 1) die();
    if (fatal_.number > 0) --fatal_.number;
  };
  watch.entered = std::move(hooks.entered);
  watch.ended = std::move(hooks.ended);
  return watch;
}

bool CoordinatorProcess::runReady() {
  if (loop_.stopped()) loop_.restart();
  return loop_.poll_one() > 0;
}

void CoordinatorProcess::run(std::function<void()> work) {
  world_.agenda.after(world_.random.between(Duration(10), Duration(500)),
                      [this, life = life(), work = std::move(work)] {
                        if (!life.expired() && !dying_) world_.fibers.start(this, work);
                      });
}

std::unique_ptr<Timer> CoordinatorProcess::after(std::chrono::milliseconds time,
                                                 std::function<void()> passed) {
  struct Armed : Timer {
    std::shared_ptr<int> there = std::make_shared<int>();
  };
  auto timer = std::make_unique<Armed>();
  world_.agenda.after(
      time, [this, life = life(), there = std::weak_ptr<int>(timer->there), passed = std::move(passed)] {
        if (life.expired()) return;
        post([there, passed] {
          if (!there.expired()) passed();
        });
      });
  return timer;
}

}  // namespace rdmove::simulation
