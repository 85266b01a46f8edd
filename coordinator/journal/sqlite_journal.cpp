#include "coordinator/journal/sqlite_journal_impl.hpp"

#include <algorithm>
#include <set>

namespace rdmove::journal {
namespace {

constexpr std::size_t kMostPartnerSteps = 1000;
constexpr int kFinishedKept = 1000;

constexpr const char* kColumns =
    "id, role, uuid, domain, partner, phase, outcome, plan, error, created_us, updated_us FROM migrations ";

MigrationRecord readMigration(SQLite::Statement& row) {
  MigrationRecord record;
  record.id = MigrationId(row.getColumn(0).getString());
  record.role = static_cast<Role>(row.getColumn(1).getInt());
  record.uuid = DomainUuid(row.getColumn(2).getString());
  record.domain = row.getColumn(3).getString();
  record.partner = HostName(row.getColumn(4).getString());
  record.phase = row.getColumn(5).getString();
  record.outcome = static_cast<Outcome>(row.getColumn(6).getInt());
  record.plan = row.getColumn(7).getString();
  record.error = row.getColumn(8).getString();
  record.created_us = row.getColumn(9).getInt64();
  record.updated_us = row.getColumn(10).getInt64();
  return record;
}

void bindStep(SQLite::Statement& insert, const MigrationId& id, Role role, bool told,
              const StepRecord& step) {
  insert.bind(1, id.str());
  insert.bind(2, static_cast<int>(role));
  insert.bind(3, told ? 1 : 0);
  insert.bind(4, cut(step.source));
  insert.bind(5, cut(step.step));
  insert.bind(6, static_cast<int>(step.mark));
  insert.bind(7, cut(step.detail));
  insert.bind(8, step.wall_us);
  insert.bind(9, step.boot_ns);
}

constexpr const char* kInsertStep =
    "INSERT INTO steps (migration, role, told, source, step, mark, detail, wall_us, boot_ns) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

}  // namespace

std::string cut(const std::string& text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

SqliteJournal::SqliteJournal(std::filesystem::path path, StateLock lock, std::unique_ptr<SQLite::Database> db,
                             Clock& clock, HostName host, Room room)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      db_(std::move(db)),
      statements_(*db_),
      clock_(clock),
      host_(std::move(host)),
      room_(room) {}

std::int64_t SqliteJournal::wallNow() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(clock_.now().wall.time_since_epoch()).count();
}

Statements::Use SqliteJournal::statement(const std::string& sql, const MigrationId& id, Role role) {
  auto use = statements_(sql);
  use->bind(1, id.str());
  use->bind(2, static_cast<int>(role));
  return use;
}

Result<void> SqliteJournal::unknown(std::string_view what, const MigrationId& id, Role role) const {
  return failure(ErrorCode::kNotFound, attempt(what, id)(),
                 fmt::format("this host's journal has no {} of that name", toString(role)),
                 "`rdmove list` names those that it has.");
}

Result<void> SqliteJournal::begin(const MigrationRecord& record, const std::vector<FactRecord>& facts) {
  const auto drop = [&] {
    // The reserve came first, so that a full disk is found before there is a migration. What this cannot take
    // back, the next begin() or open does: without its migration the reserve is an orphan.
    (void)guarded(
        path_, [] { return std::string(); },
        [&]() -> Result<void> {
          dropReserve(statements_, record.id, record.role);
          return {};
        });
  };
  if (auto known = find(record.id, record.role); !known) {
    return tl::unexpected<Error>(known.error());
  } else if (known->has_value()) {
    return failure(ErrorCode::kConflict, attempt("begin the journal", record.id)(),
                   "there is a migration of that name already", {});
  }
  auto result = guarded(path_, attempt("reserve room in the journal", record.id), [&]() -> Result<void> {
    dropOrphanedReserves(*db_);
    if (room_ == Room::kReserved) makeReserve(*db_, record.id, record.role, record.plan.size());
    return {};
  });
  if (result) {
    std::size_t bytes = record.plan.size();
    for (const FactRecord& fact : facts) bytes += fact.value.size();
    result = write("begin the journal", record.id, bytes, [&] {
      auto inserted = insertMigration(record);
      for (const FactRecord& fact : facts) {
        if (inserted) upsertFact(record.id, record.role, fact);
      }
      return inserted;
    });
  }
  if (!result) drop();
  return result;
}

Result<void> SqliteJournal::insertMigration(const MigrationRecord& record) {
  auto others = statements_(std::string("SELECT ") + kColumns + "WHERE uuid = ? AND outcome IN (0, 4)");
  others->bind(1, record.uuid.str());
  std::vector<MigrationRecord> unfinished_ones;
  while (!isFinished(record.outcome) && others->executeStep())
    unfinished_ones.push_back(readMigration(*others));
  for (const MigrationRecord& other : unfinished_ones) {
    const bool moves_on = record.role == Role::kDeparture && other.role == Role::kArrival &&
                          other.outcome == Outcome::kDegraded;
    if (!moves_on) {
      return failure(ErrorCode::kConflict, fmt::format("begin a migration of {}", record.domain),
                     fmt::format("{} {} of it is not over ({}, {})", toString(other.role), other.id.str(),
                                 other.phase, toString(other.outcome)),
                     fmt::format("`rdmove show {}` says what it waits for.", other.id.str()));
    }
    auto supersede =
        statement("UPDATE migrations SET outcome = ?3, updated_us = ?4 WHERE id = ?1 AND role = ?2", other.id,
                  other.role);
    supersede->bind(3, static_cast<int>(Outcome::kSuperseded));
    supersede->bind(4, wallNow());
    supersede->exec();
    auto free = statements_("DELETE FROM leases WHERE migration = ?");
    free->bind(1, other.id.str());
    free->exec();
    dropReserve(statements_, other.id, other.role);
  }
  auto insert =
      statement("INSERT INTO migrations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", record.id, record.role);
  insert->bind(3, record.uuid.str());
  insert->bind(4, record.domain);
  insert->bind(5, record.partner.str());
  insert->bind(6, record.phase);
  insert->bind(7, static_cast<int>(record.outcome));
  insert->bind(8, record.plan);
  insert->bind(9, cut(record.error));
  insert->bind(10, record.created_us != 0 ? record.created_us : wallNow());
  insert->bind(11, record.updated_us != 0 ? record.updated_us : wallNow());
  insert->exec();
  auto forget = statements_(
      "DELETE FROM migrations WHERE rowid IN (SELECT rowid FROM migrations WHERE outcome NOT IN "
      "(0, 4) ORDER BY created_us DESC, rowid DESC LIMIT -1 OFFSET ?)");
  forget->bind(1, kFinishedKept);
  forget->exec();
  return {};
}

void SqliteJournal::insertStep(const MigrationId& id, Role role, const std::string& step, StepMark mark,
                               const std::string& detail) {
  StepRecord record;
  record.source =
      host_.empty() ? std::string(toString(role)) : fmt::format("{} {}", host_.str(), toString(role));
  record.step = step;
  record.mark = mark;
  record.detail = detail;
  record.wall_us = wallNow();
  record.boot_ns = clock_.now().boot.count();
  auto insert = statements_(kInsertStep);
  bindStep(*insert, id, role, false, record);
  insert->exec();
}

Result<void> SqliteJournal::enter(const MigrationId& id, Role role, const std::string& phase) {
  return write("enter a phase", id, 0, [&]() -> Result<void> {
    auto update = statement(
        "UPDATE migrations SET phase = ?3, updated_us = ?4 WHERE id = ?1 AND role = ?2 "
        "AND outcome IN (0, 4)",
        id, role);
    update->bind(3, phase);
    update->bind(4, wallNow());
    if (update->exec() == 0) {
      auto exists = statement("SELECT 1 FROM migrations WHERE id = ? AND role = ?", id, role);
      if (!exists->executeStep()) return unknown("enter a phase", id, role);
      return failure(ErrorCode::kConflict, attempt("enter a phase", id)(), "it is over", {});
    }
    insertStep(id, role, phase, StepMark::kIntent, {});
    return {};
  });
}

Result<void> SqliteJournal::mark(const MigrationId& id, Role role, const std::string& step, StepMark mark,
                                 const std::string& detail) {
  return write("record a step", id, detail.size(), [&]() -> Result<void> {
    auto update = statement("UPDATE migrations SET updated_us = ?3 WHERE id = ?1 AND role = ?2", id, role);
    update->bind(3, wallNow());
    if (update->exec() == 0) return unknown("record a step", id, role);
    insertStep(id, role, step, mark, detail);
    return {};
  });
}

Result<void> SqliteJournal::finish(const MigrationId& id, Role role, Outcome outcome,
                                   const std::string& error) {
  if (outcome == Outcome::kRunning) {
    return failure(ErrorCode::kBadInput, attempt("finish the journal", id)(), "Running is no end", {});
  }
  return write("finish the journal", id, error.size(), [&]() -> Result<void> {
    auto now = statement("SELECT outcome FROM migrations WHERE id = ? AND role = ?", id, role);
    if (!now->executeStep()) return unknown("finish the journal", id, role);
    const auto before = static_cast<Outcome>(now->getColumn(0).getInt());
    if (isFinished(before)) {
      if (before == outcome) return {};
      return failure(ErrorCode::kConflict, attempt("finish the journal", id)(),
                     fmt::format("it ended as {}, not as {}", toString(before), toString(outcome)), {});
    }
    now->reset();
    auto update = statement(
        "UPDATE migrations SET outcome = ?3, error = ?4, updated_us = ?5 WHERE id = ?1 AND role = ?2", id,
        role);
    update->bind(3, static_cast<int>(outcome));
    update->bind(4, cut(error));
    update->bind(5, wallNow());
    update->exec();
    if (isFinished(outcome)) {
      auto free = statements_("DELETE FROM leases WHERE migration = ?");
      free->bind(1, id.str());
      free->exec();
      dropReserve(statements_, id, role);
    }
    return {};
  });
}

Result<void> SqliteJournal::setPlan(const MigrationId& id, Role role, const std::string& plan_json) {
  return write("keep the plan", id, plan_json.size(), [&]() -> Result<void> {
    auto update =
        statement("UPDATE migrations SET plan = ?3, updated_us = ?4 WHERE id = ?1 AND role = ?2", id, role);
    update->bind(3, plan_json);
    update->bind(4, wallNow());
    if (update->exec() == 0) return unknown("keep the plan", id, role);
    return {};
  });
}

Result<void> SqliteJournal::setFact(const MigrationId& id, Role role, const std::string& name,
                                    const std::string& value) {
  return write("keep a fact", id, value.size(), [&]() -> Result<void> {
    auto exists = statement("SELECT 1 FROM migrations WHERE id = ? AND role = ?", id, role);
    if (!exists->executeStep()) return unknown("keep a fact", id, role);
    upsertFact(id, role, {name, value});
    return {};
  });
}

void SqliteJournal::upsertFact(const MigrationId& id, Role role, const FactRecord& fact) {
  auto upsert = statement(
      "INSERT INTO facts (migration, role, name, value) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (migration, role, name) DO UPDATE SET value = excluded.value",
      id, role);
  upsert->bind(3, fact.name);
  upsert->bind(4, fact.value);
  upsert->exec();
}

Result<std::vector<FactRecord>> SqliteJournal::facts(const MigrationId& id, Role role) {
  return guarded(path_, attempt("read the facts", id), [&]() -> Result<std::vector<FactRecord>> {
    auto rows =
        statement("SELECT name, value FROM facts WHERE migration = ? AND role = ? ORDER BY name", id, role);
    std::vector<FactRecord> found;
    while (rows->executeStep())
      found.push_back({rows->getColumn(0).getString(), rows->getColumn(1).getString()});
    return found;
  });
}

Result<void> SqliteJournal::keepPartnerSteps(const MigrationId& id, Role role,
                                             const std::vector<StepRecord>& steps) {
  if (steps.size() > kMostPartnerSteps) {
    return failure(ErrorCode::kBadInput, attempt("keep the partner's steps", id)(),
                   fmt::format("{} rows are more than {}", steps.size(), kMostPartnerSteps), {});
  }
  std::size_t bytes = 0;
  for (const StepRecord& step : steps)
    bytes += 64 + step.step.size() + std::min(step.detail.size(), kLongestText);
  return write("keep the partner's steps", id, bytes, [&]() -> Result<void> {
    auto exists = statement("SELECT 1 FROM migrations WHERE id = ? AND role = ?", id, role);
    if (!exists->executeStep()) return unknown("keep the partner's steps", id, role);
    exists->reset();
    std::set<std::string> told_by;
    for (const StepRecord& step : steps) {
      if (!told_by.insert(step.source).second) continue;
      auto forget = statement(
          "DELETE FROM steps WHERE migration = ? AND role = ? AND told = 1 AND source = ?", id, role);
      forget->bind(3, cut(step.source));
      forget->exec();
    }
    auto insert = statements_(kInsertStep);
    for (const StepRecord& step : steps) {
      bindStep(*insert, id, role, true, step);
      insert->exec();
      insert->reset();
    }
    return {};
  });
}

Result<std::optional<MigrationRecord>> SqliteJournal::find(const MigrationId& id, Role role) {
  return guarded(path_, attempt("read the journal", id), [&]() -> Result<std::optional<MigrationRecord>> {
    auto row = statement(std::string("SELECT ") + kColumns + "WHERE id = ? AND role = ?", id, role);
    if (!row->executeStep()) return std::nullopt;
    return readMigration(*row);
  });
}

Result<std::vector<MigrationRecord>> SqliteJournal::migrations(const char* sql, std::int64_t limit) {
  const MigrationId none;
  return guarded(path_, attempt("read the journal", none), [&]() -> Result<std::vector<MigrationRecord>> {
    auto rows = statements_(std::string("SELECT ") + kColumns + sql);
    rows->bind(1, limit);
    std::vector<MigrationRecord> found;
    while (rows->executeStep()) found.push_back(readMigration(*rows));
    return found;
  });
}

Result<std::vector<MigrationRecord>> SqliteJournal::list(std::size_t newest) {
  return migrations("ORDER BY created_us DESC, rowid DESC LIMIT ?", static_cast<std::int64_t>(newest));
}

Result<std::vector<MigrationRecord>> SqliteJournal::unfinished() {
  return migrations("WHERE outcome IN (0, 4) ORDER BY created_us, rowid LIMIT ?", -1);
}

Result<std::vector<StepRecord>> SqliteJournal::steps(const MigrationId& id, Role role) {
  return guarded(path_, attempt("read the steps", id), [&]() -> Result<std::vector<StepRecord>> {
    auto rows = statement(
        "SELECT source, step, mark, detail, wall_us, boot_ns FROM steps WHERE migration = ? AND role = ? "
        "ORDER BY told, seq",
        id, role);
    std::vector<StepRecord> found;
    while (rows->executeStep()) {
      found.push_back({id, role, rows->getColumn(0).getString(), rows->getColumn(1).getString(),
                       static_cast<StepMark>(rows->getColumn(2).getInt()), rows->getColumn(3).getString(),
                       rows->getColumn(4).getInt64(), rows->getColumn(5).getInt64()});
    }
    return found;
  });
}

}  // namespace rdmove::journal
