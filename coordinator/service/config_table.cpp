#include "coordinator/service/config_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace rdmove::config {
namespace {

std::string_view kindOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "the text";
    case toml::node_type::integer:
      return "the number";
    case toml::node_type::floating_point:
      return "the fraction";
    case toml::node_type::boolean:
      return "the truth value";
    default:
      return "a date or time";
  }
}

}  // namespace

std::string describe(const toml::node& node) {
  if (node.is_table() || node.is_array()) return std::string(kindOf(node));
  std::ostringstream value;
  node.visit([&](const auto& concrete) {
    if constexpr (toml::is_value<decltype(concrete)>) value << concrete;
  });
  return fmt::format("{} {}", kindOf(node), value.str());
}

Table::Table(const toml::table& table, std::string path, const std::string& file)
    : table_(table), path_(std::move(path)), file_(file) {}

std::string Table::full(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string Table::place(std::string_view key) const {
  toml::source_position at = table_.source().begin;
  for (const auto& [name, node] : table_) {
    // A [table]'s own place is its header; a value's key says more than the value.
    if (name.str() == key) at = name.source().begin ? name.source().begin : node.source().begin;
  }
  return at ? fmt::format("{}:{}:{}", file_, at.line, at.column) : fmt::format("{}:1:1", file_);
}

void Table::fail(std::string_view key, std::string_view complaint) const {
  throw ConfigError{fmt::format("{}: {}: {}", place(key), full(key), complaint)};
}

void Table::fail(std::string_view key, std::string_view expected, std::string_view found) const {
  fail(key, fmt::format("expected {}, found {}", expected, found));
}

const toml::node* Table::take(std::string_view key) {
  known_.emplace_back(key);
  return table_.get(key);
}

std::optional<std::string> Table::text(std::string_view key, std::string_view expected) {
  const toml::node* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_string()) fail(key, expected, describe(*node));
  return node->as_string()->get();
}

std::string Table::text(std::string_view key, std::string_view expected, std::string otherwise) {
  return text(key, expected).value_or(std::move(otherwise));
}

std::string Table::requiredText(std::string_view key, std::string_view expected) {
  auto value = text(key, expected);
  if (!value) fail(key, expected, "nothing");
  if (value->empty()) fail(key, expected, "an empty text");
  return *value;
}

bool Table::flag(std::string_view key, bool otherwise) {
  const toml::node* node = take(key);
  if (node == nullptr) return otherwise;
  if (!node->is_boolean()) fail(key, "true or false", describe(*node));
  return node->as_boolean()->get();
}

std::int64_t Table::number(std::string_view key, std::int64_t least, std::int64_t most,
                           std::int64_t otherwise) {
  const toml::node* node = take(key);
  if (node == nullptr) return otherwise;
  if (!node->is_integer() || node->as_integer()->get() < least || node->as_integer()->get() > most) {
    fail(key, fmt::format("a whole number from {} to {}", least, most), describe(*node));
  }
  return node->as_integer()->get();
}

std::vector<std::string> Table::requiredWords(std::string_view key, std::string_view expected) {
  const toml::node* node = take(key);
  if (node == nullptr) fail(key, expected, "nothing");
  if (!node->is_array()) fail(key, expected, describe(*node));
  std::vector<std::string> words;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_string() || element.as_string()->get().empty())
      fail(key, expected, describe(element) + " in it");
    words.push_back(element.as_string()->get());
  }
  return words;
}

std::vector<std::string> Table::requiredTexts(std::string_view key, std::string_view expected) {
  std::vector<std::string> texts = requiredWords(key, expected);
  for (const std::string& text : texts) {
    if (std::count(texts.begin(), texts.end(), text) > 1) fail(key, expected, "\"" + text + "\" twice");
  }
  return texts;
}

std::optional<Table> Table::table(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_table()) fail(key, "a table", describe(*node));
  return Table(*node->as_table(), full(key), file_);
}

std::vector<std::pair<std::string, Table>> Table::tables(std::string_view key) {
  std::vector<std::pair<std::string, Table>> entries;
  auto outer = table(key);
  if (!outer) return entries;
  for (const auto& [name, node] : outer->table_) {
    const std::string entry(name.str());
    entries.emplace_back(entry, outer->table(entry).value());
  }
  return entries;
}

std::vector<Table> Table::list(std::string_view key) {
  std::vector<Table> entries;
  const toml::node* node = take(key);
  if (node == nullptr) return entries;
  const toml::array* array = node->as_array();
  if (array == nullptr) fail(key, fmt::format("a list of tables, [[{}]]", full(key)), describe(*node));
  for (const toml::node& element : *array) {
    if (!element.is_table()) fail(key, "tables", describe(element) + " in it");
    entries.emplace_back(*element.as_table(), fmt::format("{}[{}]", full(key), entries.size()), file_);
  }
  return entries;
}

void Table::rejectUnknown() const {
  for (const auto& [name, node] : table_) {
    if (std::find(known_.begin(), known_.end(), name.str()) != known_.end()) continue;
    std::string known = "nothing";
    if (!known_.empty()) known = fmt::format("one of {}", fmt::join(known_, ", "));
    fail(name.str(), fmt::format("there is no such key; expected {}", known));
  }
}

}  // namespace rdmove::config
