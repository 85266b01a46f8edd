// Statements are compiled once for a connection: most of what a write costs is SQLite reading the same SQL
// again. Internal to the journal; one thread.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <map>
#include <string>
#include <utility>

namespace rdmove::journal {

class Statements {
 public:
  explicit Statements(SQLite::Database& db) : db_(db) {}

  /// A statement until the end of its scope, then fit for the next use. The same one may not be used twice at
  /// a time.
  class Use {
   public:
    explicit Use(SQLite::Statement& statement) : statement_(&statement) {}
    ~Use() {
      if (statement_ == nullptr) return;
      statement_->tryReset();  // an error in it has been thrown by what met it
      statement_->clearBindings();
    }
    Use(Use&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
    Use& operator=(Use&&) = delete;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    SQLite::Statement& operator*() const { return *statement_; }
    SQLite::Statement* operator->() const { return statement_; }

   private:
    SQLite::Statement* statement_;
  };

  /// Throws SQLite::Exception as a SQLite::Statement does.
  Use operator()(const std::string& sql) {
    const auto known = made_.find(sql);
    return Use(known != made_.end() ? known->second : made_.try_emplace(sql, db_, sql).first->second);
  }

 private:
  SQLite::Database& db_;
  std::map<std::string, SQLite::Statement> made_;
};

}  // namespace rdmove::journal
