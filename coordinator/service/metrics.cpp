#include "coordinator/service/metrics.hpp"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <optional>

namespace rdmove {
namespace {

using Labels = std::map<std::string, std::string>;

/// Phases last from under a millisecond to the minutes of a transfer.
const prometheus::Histogram::BucketBoundaries kSeconds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                                          2.5,   5,    10,    30,   60,  120,  300, 900};

prometheus::MetricFamily gauge(const std::string& name, const std::string& help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void add(prometheus::MetricFamily& family, const Labels& labels, std::size_t value) {
  prometheus::ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  metric.gauge.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

/// A reader that comes while the daemon stops is told of nothing that has to be asked.
class Looked : public prometheus::Collectable {
 public:
  explicit Looked(std::function<Result<HostCounts>()> look) : look_(std::move(look)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const auto counts = look_();
    if (!counts) return {};
    auto leases = gauge("rdmove_leases", "VFs that are promised to a migration");
    for (const auto& [pool, count] : counts->leases) add(leases, {{"pool", pool}}, count);
    auto unfinished = gauge("rdmove_unfinished_migrations", "Migrations that are not over");
    for (const auto& [key, count] : counts->unfinished)
      add(unfinished, {{"role", key.first}, {"state", key.second}}, count);
    auto agents = gauge("rdmove_agent_links", "Guests whose agent's channel is open just now");
    add(agents, {}, counts->agents);
    return {leases, unfinished, agents};
  }

 private:
  std::function<Result<HostCounts>()> look_;
};

}  // namespace

struct Metrics::Impl {
  using Key = std::pair<MigrationId, Role>;
  using Moment = std::chrono::nanoseconds;
  struct Going {
    std::string phase;
    Moment since{0};
    std::optional<Moment> without_device;  ///< since the guest was asked for it
  };

  Impl(Bulletin& all, const Clock& host_clock, std::function<Result<HostCounts>()> look)
      : bulletin(all),
        clock(host_clock),
        registry(std::make_shared<prometheus::Registry>()),
        looked(std::make_shared<Looked>(std::move(look))),
        ends(prometheus::BuildCounter()
                 .Name("rdmove_migrations_total")
                 .Help("Migrations that are over, by how they ended")
                 .Register(*registry)),
        phases(prometheus::BuildHistogram()
                   .Name("rdmove_phase_seconds")
                   .Help("How long migrations were in a phase")
                   .Register(*registry)),
        blackouts(
            prometheus::BuildHistogram()
                .Name("rdmove_blackout_seconds")
                .Help("From the request to the guest to give its device up, to its word that all is back")
                .Register(*registry)),
        degraded(prometheus::BuildCounter()
                     .Name("rdmove_degraded_total")
                     .Help("How often a migration became Degraded")
                     .Register(*registry)) {}

  void heard(const Update& update);
  void blackoutEnds(Going& going, const char* where);
  static double seconds(Moment time) { return std::chrono::duration<double>(time).count(); }

  Bulletin& bulletin;
  const Clock& clock;
  std::shared_ptr<prometheus::Registry> registry;
  std::shared_ptr<Looked> looked;
  prometheus::Family<prometheus::Counter>& ends;
  prometheus::Family<prometheus::Histogram>& phases;
  prometheus::Family<prometheus::Histogram>& blackouts;
  prometheus::Family<prometheus::Counter>& degraded;
  std::map<Key, Going> going;
  std::map<Key, bool> told_degraded;
  std::uint64_t subscription = 0;
};

void Metrics::Impl::heard(const Update& update) {
  const Key key{update.record.id, update.record.role};
  const std::string role(toString(update.record.role));
  const Moment now = clock.now().boot;
  const bool over = isFinished(update.record.outcome);
  const auto known = going.find(key);
  if (known == going.end() && over) return;
  Going& state = known == going.end() ? going[key] : known->second;
  if (update.record.outcome == Outcome::kDegraded && !std::exchange(told_degraded[key], true))
    degraded.Add({{"role", role}}).Increment();
  if (state.phase != update.record.phase || over) {
    // The first phase after a restart of the daemon has begun before it.
    if (!state.phase.empty()) {
      phases.Add({{"role", role}, {"phase", state.phase}}, kSeconds).Observe(seconds(now - state.since));
    }
    state.phase = update.record.phase;
    state.since = now;
    if (state.phase == "Unplugging" && update.record.role == Role::kDeparture) state.without_device = now;
    if (state.phase == "Withdrawing") blackoutEnds(state, "source");
  }
  if (update.partner_phase == "Verifying") blackoutEnds(state, "destination");
  if (!over) return;
  ends.Add({{"role", role}, {"outcome", std::string(toString(update.record.outcome))}}).Increment();
  going.erase(key);
  told_degraded.erase(key);
}

void Metrics::Impl::blackoutEnds(Going& state, const char* where) {
  if (!state.without_device) return;
  blackouts.Add({{"back_on", where}}, kSeconds).Observe(seconds(clock.now().boot - *state.without_device));
  state.without_device.reset();
}

Metrics::Metrics(Bulletin& bulletin, const Clock& clock, std::function<Result<HostCounts>()> look)
    : impl_(std::make_unique<Impl>(bulletin, clock, std::move(look))) {
  impl_->subscription = bulletin.subscribe([this](const Update& update) { impl_->heard(update); });
}

Metrics::~Metrics() {
  impl_->bulletin.unsubscribe(impl_->subscription);
}

std::shared_ptr<prometheus::Registry> Metrics::counted() const {
  return impl_->registry;
}
std::shared_ptr<prometheus::Collectable> Metrics::looked() const {
  return impl_->looked;
}

struct MetricsServer::Impl {
  explicit Impl(const std::string& address, const Metrics& metrics)
      : counted(metrics.counted()), looked(metrics.looked()), exposer(address, 1) {
    exposer.RegisterCollectable(counted);
    exposer.RegisterCollectable(looked);
  }
  std::shared_ptr<prometheus::Registry> counted;
  std::shared_ptr<prometheus::Collectable> looked;
  prometheus::Exposer exposer;
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(const std::string& address,
                                                           const Metrics& metrics) {
  try {
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::make_unique<Impl>(address, metrics)));
  } catch (const std::exception&) {  // civetweb gives no reason
    return failure(ErrorCode::kConflict, "serve metrics on " + address, "the address is not ours or in use",
                   "Set [metrics] listen to a free address of this host.");
  }
}

}  // namespace rdmove
