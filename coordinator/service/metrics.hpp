// What Prometheus is told: counted as migrations go, from the bulletin, on the loop thread; read by the
// exposer's own thread. What a host has at the moment (leases, agents) is asked when it is read. Names:
// docs/metrics.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/base/clock.hpp"
#include "coordinator/base/result.hpp"
#include "coordinator/migration/bulletin.hpp"

namespace prometheus {
class Registry;
class Collectable;
}  // namespace prometheus

namespace rdmove {

/// Of one moment.
struct HostCounts {
  std::map<std::string, std::size_t> leases;                              ///< by pool
  std::map<std::pair<std::string, std::string>, std::size_t> unfinished;  ///< by role and outcome
  std::size_t agents = 0;  ///< guests whose agent's channel is open
};

class Metrics {
 public:
  /// `look` is called on the reader's thread.
  Metrics(Bulletin& bulletin, const Clock& clock, std::function<Result<HostCounts>()> look);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// Both are to be exposed.
  std::shared_ptr<prometheus::Registry> counted() const;
  std::shared_ptr<prometheus::Collectable> looked() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Serves them at http://ADDRESS/metrics until it is destroyed.
class MetricsServer {
 public:
  static Result<std::unique_ptr<MetricsServer>> open(const std::string& address, const Metrics& metrics);
  ~MetricsServer();

 private:
  struct Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rdmove
