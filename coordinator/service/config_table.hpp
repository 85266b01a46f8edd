// One TOML table being read strictly: every key is asked for by name and type, and what was never asked for
// is an error. For those who read a whole file (config.cpp, the failover harness' files). Wrong input throws
// ConfigError, which leaves none of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

namespace rdmove::config {

/// "FILE:LINE:COLUMN: KEY: expected E, found F".
struct ConfigError {
  std::string sentence;
};

class Table {
 public:
  /// `path` is the table's full name, "partners.hostb"; empty for the file's root.
  Table(const toml::table& table, std::string path, const std::string& file);

  bool has(std::string_view key) const { return table_.contains(key); }
  std::optional<std::string> text(std::string_view key, std::string_view expected);
  std::string text(std::string_view key, std::string_view expected, std::string otherwise);
  std::string requiredText(std::string_view key, std::string_view expected);
  bool flag(std::string_view key, bool otherwise);
  std::int64_t number(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t otherwise);
  /// Each one once.
  std::vector<std::string> requiredTexts(std::string_view key, std::string_view expected);
  /// As of a command: a word may come again.
  std::vector<std::string> requiredWords(std::string_view key, std::string_view expected);
  std::optional<Table> table(std::string_view key);
  /// Each entry of a table of tables, by name.
  std::vector<std::pair<std::string, Table>> tables(std::string_view key);
  /// The tables of a list, [[key]], in their order; none when it is absent.
  std::vector<Table> list(std::string_view key);

  /// To be called last: names the first key that nothing asked for.
  void rejectUnknown() const;

  /// Throws a ConfigError about this key (its place is the key's, or the table's when it is absent).
  [[noreturn]] void fail(std::string_view key, std::string_view expected, std::string_view found) const;
  [[noreturn]] void fail(std::string_view key, std::string_view complaint) const;

 private:
  const toml::node* take(std::string_view key);
  std::string place(std::string_view key) const;
  std::string full(std::string_view key) const;

  const toml::table& table_;
  std::string path_;
  const std::string& file_;
  std::vector<std::string> known_;
};

/// For "found ...": the type, and the value of a scalar.
std::string describe(const toml::node& node);

}  // namespace rdmove::config
