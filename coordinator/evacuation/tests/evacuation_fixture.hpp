// One evacuation on a real journal, among migrations and destinations that do what a test says.
#pragma once

#include "coordinator/evacuation/evacuation.hpp"
#include "coordinator/journal/tests/journal_fixture.hpp"
#include "coordinator/migration/plan_json.hpp"
#include "coordinator/migration/session.hpp"

namespace rdmove::evacuation {

inline const PoolName kFabric("fabric");
inline const HostName kHostb("hostb");
inline const HostName kHostc("hostc");
inline const EvacuationId kId("evacuation-hosta-x");

/// Passes when the test says so.
class HandTimers : public Timers {
 public:
  std::unique_ptr<Timer> after(std::chrono::milliseconds, std::function<void()> passed) override {
    armed = std::move(passed);
    return std::make_unique<Timer>();
  }
  std::function<void()> armed;
};

class World : public Surroundings {
 public:
  explicit World(Journal& journal) : journal_(journal) {}

  Result<MigrationId> depart(const Plan& plan) override {
    departed.push_back(plan.domain + " to " + plan.destination.str());
    if (refuses) return tl::unexpected(*refuses);
    MigrationRecord record;
    record.id = MigrationId(plan.domain + "-" + std::to_string(departed.size()));
    record.uuid = plan.uuid;
    record.domain = plan.domain;
    record.partner = plan.destination;
    record.phase = "Preflight";
    record.plan = rdmove::toJson(plan);
    if (auto begun = journal_.begin(record); !begun) return tl::unexpected(begun.error());
    return record.id;
  }
  void askRooms(const std::vector<HostName>&, std::function<void(Rooms)> answer) override {
    asked.push_back(std::move(answer));
  }
  /// The destinations say what room they have, until nobody asks any more.
  void answer() {
    while (!asked.empty()) {
      const auto next = std::exchange(asked, {});
      for (const auto& each : next) each(rooms);
    }
  }

  Rooms rooms{{{kHostb, {{kFabric, 9}}, 1 << 30, 64, 0}}, {}};
  std::vector<std::function<void(Rooms)>> asked;
  std::vector<std::string> departed;
  std::optional<Error> refuses;

 private:
  Journal& journal_;
};

class EvacuationTest : public journal_tests::JournalTest {
 protected:
  void SetUp() override {
    JournalTest::SetUp();
    world = std::make_unique<World>(*journal);
    request.destinations = {kHostb, kHostc};
    for (const char* name : {"vm1", "vm2", "vm3"}) needs.push_back(need(name));
  }

  static Need need(const std::string& name) {
    return {DomainUuid("uuid-" + name), name, 1024, 1, {{kFabric, 1}}, {}};
  }
  static HostRoom room(const HostName& host, unsigned vfs) {
    return {host, {{kFabric, vfs}}, 1 << 30, 64, 0};
  }

  std::vector<EvacuatedVm> planned() {
    std::vector<EvacuatedVm> rows;
    for (const Need& each : needs) {
      EvacuatedVm row;
      row.uuid = each.uuid;
      row.domain = each.domain;
      row.need = needToJson(each);
      row.destination = kHostb;
      rows.push_back(row);
    }
    return rows;
  }

  void begin() {
    EvacuationRecord record;
    record.id = kId;
    record.request = toJson(request);
    ASSERT_TRUE(journal->beginEvacuation(record, planned()));
    takeUp();
  }

  /// As after the daemon's start: all that is known is in the journal.
  void takeUp() {
    const auto record = journal->evacuations().value().at(0);
    std::vector<Member> members;
    const auto rows = journal->evacuated(kId).value();
    for (const EvacuatedVm& row : rows) {
      Need its = needFromJson(row.need).value();
      its.uuid = row.uuid;
      its.domain = row.domain;
      members.push_back({row, its, triesFromJson(row.tried).value()});
    }
    said.clear();
    evacuation = std::make_shared<Evacuation>(
        *journal, *world, timers, clock, record, requestFromJson(record.request).value(), members,
        [this](const Evacuation&, const std::string& words) { said.push_back(words); });
    evacuation->start();
    world->answer();
  }

  void restart() {
    evacuation.reset();
    reopen();
    world = std::make_unique<World>(*journal);
  }

  MigrationRecord recordOf(const std::string& id) {
    return *journal->find(MigrationId(id), Role::kDeparture).value();
  }
  /// The migration is journaled as ended, and then says so.
  void end(const std::string& id, Outcome outcome, const std::string& error = "") {
    ASSERT_TRUE(journal->finish(MigrationId(id), Role::kDeparture, outcome, error));
    tell(id);
  }
  void tell(const std::string& id) {
    evacuation->onUpdate({recordOf(id), {}, ""});
    world->answer();
  }
  void fact(const std::string& id, const std::string& name) {
    ASSERT_TRUE(journal->setFact(MigrationId(id), Role::kDeparture, name, "yes"));
  }
  EvacuatedVm row(const std::string& name) {
    const auto rows = journal->evacuated(kId).value();
    for (const EvacuatedVm& each : rows) {
      if (each.domain == name) return each;
    }
    return {};
  }
  EvacuationOutcome outcome() { return journal->evacuations().value().at(0).outcome; }

  std::unique_ptr<World> world;
  HandTimers timers;
  Request request;
  std::vector<Need> needs;
  std::shared_ptr<Evacuation> evacuation;
  std::vector<std::string> said;
};

}  // namespace rdmove::evacuation
