#include "coordinator/cli/format/agent_object.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "coordinator/cli/format/printable.hpp"
#include "coordinator/cli/format/table.hpp"

namespace rdmove::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxDepth = 32;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string scalar(const Json& value) {
  return printable(value.is_string() ? value.get<std::string>() : dumped(value));
}

bool isRows(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_object(); });
}

std::string rowsAsTable(const Json& rows, std::size_t indent) {
  std::vector<std::string> names;
  for (const Json& row : rows) {
    for (const auto& [name, cell] : row.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::string> headings;
  for (const std::string& name : names) headings.push_back(printable(name));
  if (headings.empty()) return {};
  Table table(headings);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(row.contains(name) ? scalar(row.at(name)) : "");
    table.add(std::move(cells));
  }
  return table.str(indent);
}

void addObject(std::string& out, const Json& object, std::size_t indent) {
  for (const auto& [name, value] : object.items()) {
    out += std::string(indent, ' ') + printable(name) + ":";
    if (value.is_object() && !value.empty()) {
      out += '\n';
      addObject(out, value, indent + 2);
    } else if (isRows(value)) {
      out += '\n' + rowsAsTable(value, indent + 2);
    } else if (value.is_array() || value.is_object()) {
      out += value.empty() ? " none\n" : ' ' + scalar(value) + '\n';
    } else {
      out += ' ' + scalar(value) + '\n';
    }
  }
}

}  // namespace

Json readAgentObject(std::string_view text) {
  // Printing recurses.
  bool deep = false;
  const auto watch = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kMaxDepth;
    return !deep;
  };
  Json value = Json::parse(text, watch, false);
  return deep ? Json(Json::value_t::discarded) : value;
}

std::string agentObjectAsJson(std::string_view text) {
  const Json value = readAgentObject(text);
  return dumped(value.is_discarded() ? Json{{"unreadable", text}} : value) + '\n';
}

std::string agentObjectAsText(std::string_view text) {
  const Json value = readAgentObject(text);
  if (value.is_discarded()) return "the agent's answer cannot be read: " + printable(text) + '\n';
  if (isRows(value)) return rowsAsTable(value, 0);
  if (!value.is_object() || value.empty()) return scalar(value) + '\n';
  std::string out;
  addObject(out, value, 0);
  return out;
}

}  // namespace rdmove::cli
