// Runs scenarios one after another on a site: sees that the VM is whole and has its load, runs the migration
// under its faults, looks at what is, and judges.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "migration-tests/harness/look.hpp"
#include "migration-tests/harness/result.hpp"
#include "migration-tests/harness/run_migration.hpp"

namespace rdmove::harness {

class Runner {
 public:
  /// `options`: more words for each `rdmove migrate`.
  Runner(const Site& site, Words options, MigrationRun::Tell tell)
      : site_(site), options_(std::move(options)), tell_(std::move(tell)) {}

  ScenarioResult run(const Scenario& scenario);

 private:
  /// Which host the VM runs on is the source; "" or what keeps the scenario from being begun.
  std::string getReady(const Scenario& scenario, Cast& cast, View& before);
  std::string makeWhole(const Scenario& scenario, Cast& cast, View& before);
  std::string tryWhole(const Scenario& scenario, Cast& cast, View& before);
  View lookAll(const Cast& cast);

  const Site& site_;
  Words options_;
  MigrationRun::Tell tell_;
  // Of the VM of the running scenario.
  std::string uuid_;
  std::set<std::string> aliases_;
  Devices devices_;
  std::string console_;
  ConsoleMarks marks_;
};

}  // namespace rdmove::harness
