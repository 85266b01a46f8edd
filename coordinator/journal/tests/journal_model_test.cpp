// Random calls, reopened at random, against a model in a few maps.
#include <rapidcheck.h>

#include <map>
#include <set>
#include <tuple>

#include "journal_fixture.hpp"

namespace rdmove::journal_tests {
namespace {

struct Modelled {
  std::string uuid;
  std::string phase;
  Outcome outcome = Outcome::kRunning;
  std::vector<std::string> steps;
  std::map<std::string, std::string> facts;
};
using Key = std::pair<std::string, int>;

struct Model {
  std::map<Key, Modelled> migrations;
  std::map<std::string, std::string> leases;  // vf to migration

  void freeOf(const std::string& id) {
    std::erase_if(leases, [&](const auto& l) { return l.second == id; });
  }

  bool begin(const Key& key, const std::string& uuid) {
    if (migrations.contains(key)) return false;
    std::vector<Key> superseded;
    for (const auto& [other, m] : migrations) {
      if (m.uuid != uuid || isFinished(m.outcome)) continue;
      if (key.second != 1 || other.second != 2 || m.outcome != Outcome::kDegraded) return false;
      superseded.push_back(other);
    }
    for (const auto& other : superseded) {
      migrations[other].outcome = Outcome::kSuperseded;
      freeOf(other.first);
    }
    migrations[key] = {uuid, "Preflight", Outcome::kRunning, {}, {}};
    return true;
  }
  bool enter(const Key& key, const std::string& phase) {
    const auto found = migrations.find(key);
    if (found == migrations.end() || isFinished(found->second.outcome)) return false;
    found->second.phase = phase;
    found->second.steps.push_back(phase);
    return true;
  }
  bool finish(const Key& key, Outcome outcome) {
    const auto found = migrations.find(key);
    if (found == migrations.end()) return false;
    if (isFinished(found->second.outcome)) return found->second.outcome == outcome;
    found->second.outcome = outcome;
    if (isFinished(outcome)) freeOf(key.first);
    return true;
  }
  bool lease(const std::string& id, const std::set<std::string>& vfs) {
    for (const auto& vf : vfs) {
      if (leases.contains(vf) && leases[vf] != id) return false;
    }
    for (const auto& vf : vfs) leases[vf] = id;
    return true;
  }
};

void compare(Journal& journal, const Model& model) {
  std::size_t unfinished = 0;
  for (const auto& [key, m] : model.migrations) {
    const auto role = static_cast<Role>(key.second);
    const auto found = journal.find(MigrationId(key.first), role).value();
    RC_ASSERT(found.has_value());
    RC_ASSERT(found->phase == m.phase);
    RC_ASSERT(found->outcome == m.outcome);
    if (!isFinished(m.outcome)) ++unfinished;
    std::vector<std::string> steps;
    const auto journaled_steps = journal.steps(MigrationId(key.first), role).value();
    for (const auto& step : journaled_steps) steps.push_back(step.step);
    RC_ASSERT(steps == m.steps);
    std::map<std::string, std::string> facts;
    const auto journaled_facts = journal.facts(MigrationId(key.first), role).value();
    for (const auto& fact : journaled_facts) facts[fact.name] = fact.value;
    RC_ASSERT(facts == m.facts);
  }
  RC_ASSERT(journal.list(1000).value().size() == model.migrations.size());
  RC_ASSERT(journal.unfinished().value().size() == unfinished);
  std::map<std::string, std::string> leases;
  const auto journaled_leases = journal.leases().value();
  for (const auto& lease : journaled_leases) leases[lease.vf.str()] = lease.migration.str();
  RC_ASSERT(leases == model.leases);
}

TEST(JournalModel, behaves_like_a_few_maps_over_any_calls_and_reopens) {
  using Call = std::tuple<int, int, int, int>;  // what, migration, role or VF, value
  const bool held = rc::check("journal equals model", [] {
    const auto calls = *rc::gen::container<std::vector<Call>>(rc::gen::tuple(
        rc::gen::inRange(0, 8), rc::gen::inRange(0, 4), rc::gen::inRange(1, 3), rc::gen::inRange(0, 6)));
    TemporaryDirectory directory;
    FakeClock clock;
    const auto open = [&] { return openJournal(directory.path() / "journal.db", clock).value(); };
    auto journal = open();
    Model model;
    for (const auto& [what, migration, role_number, value] : calls) {
      const Key key{"m" + std::to_string(migration), role_number};
      const MigrationId id(key.first);
      const auto role = static_cast<Role>(role_number);
      const std::string text = "v" + std::to_string(value);
      switch (what) {
        case 0: {
          const std::string uuid = "uuid-" + std::to_string(migration / 2);
          RC_ASSERT(journal->begin(record(key.first, role, uuid)).has_value() == model.begin(key, uuid));
          break;
        }
        case 1:
          RC_ASSERT(journal->enter(id, role, text).has_value() == model.enter(key, text));
          break;
        case 2: {
          const auto outcome = static_cast<Outcome>(1 + value % 6);
          RC_ASSERT(journal->finish(id, role, outcome, "").has_value() == model.finish(key, outcome));
          break;
        }
        case 3: {
          const bool known = model.migrations.contains(key);
          RC_ASSERT(journal->setFact(id, role, "f", text).has_value() == known);
          if (known) model.migrations[key].facts["f"] = text;
          break;
        }
        case 4: {
          const std::set<std::string> vfs{"vf" + std::to_string(value), "vf" + std::to_string(value + 1)};
          std::vector<LeaseRecord> wanted;
          for (const auto& vf : vfs) wanted.push_back(leaseOf(key.first, vf));
          RC_ASSERT(journal->lease(wanted).has_value() == model.lease(key.first, vfs));
          break;
        }
        case 5:
          RC_ASSERT(journal->freeLeases(id).has_value());
          model.freeOf(key.first);
          break;
        case 6:
          journal.reset();
          journal = open();
          break;
        default:
          compare(*journal, model);
      }
    }
    journal.reset();
    journal = open();
    compare(*journal, model);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace rdmove::journal_tests
