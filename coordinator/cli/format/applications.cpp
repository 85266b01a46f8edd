#include "coordinator/cli/format/applications.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "coordinator/cli/format/agent_object.hpp"
#include "coordinator/cli/format/table.hpp"

namespace rdmove::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Empty (which a table shows as "-") when it is not there.
std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>()
                            : found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string withUnit(const std::string& number, const char* unit) {
  return number.empty() ? number : number + ' ' + unit;
}

}  // namespace

std::optional<std::string> applicationsAsTable(std::string_view agent_object) {
  const Json object = readAgentObject(agent_object);
  if (!object.is_object() || !object.contains("applications") || !object["applications"].is_array())
    return std::nullopt;
  const Json& applications = object["applications"];
  Table table({"PID", "NAME", "UID", "UP/ALL", "STATE", "LAST BLACKOUT", "RESENT", "LETS GO", "REGISTERED"});
  for (const Json& application : applications) {
    if (!application.is_object()) return std::nullopt;
    const auto found = application.find("report");
    const bool reported = found != application.end() && found->is_object();
    const Json report = reported ? *found : Json::object();
    const std::string hold = text(application, "hold");
    table.add({text(application, "pid"), text(application, "name"), text(application, "uid"),
               reported ? text(report, "up") + '/' + text(report, "connections") : "", text(report, "state"),
               withUnit(text(report, "last_blackout_ms"), "ms"), text(report, "resent"),
               hold == "none" ? "" : hold, withUnit(text(application, "registered_s"), "s ago")});
  }
  std::string out = applications.empty() ? "no application is registered\n" : table.str();
  const auto left_out = object.find("left_out");
  if (left_out != object.end() && left_out->is_number_unsigned() && *left_out != 0U)
    out += fmt::format("and {} more\n", left_out->get<std::uint64_t>());
  return out;
}

}  // namespace rdmove::cli
