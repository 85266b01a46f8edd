#include "coordinator/evacuation/record_json.hpp"

#include <nlohmann/json.hpp>

#include "coordinator/migration/plan_json.hpp"

namespace rdmove::evacuation {
namespace {

using nlohmann::json;

std::string dump(const json& document) {
  // Names come from outside; what is not UTF-8 in them must not throw here.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The journal's own words, so a strict reader: what does not fit is a damaged or a newer row.
template <class Value, class Read>
Result<Value> readDocument(const char* attempted, const std::string& text, Read read) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    return failure(
        ErrorCode::kBadInput, attempted, error.what(),
        "Another version of rdmove may have written it; run that one until the evacuation is over.");
  }
}

}  // namespace

std::string toJson(const Request& request) {
  json destinations = json::array();
  for (const HostName& host : request.destinations) destinations.push_back(host.str());
  Plan options;
  options.options = request.options;
  return dump({{"destinations", std::move(destinations)},
               {"max_parallel", request.limits.max_parallel},
               {"per_fabric", request.limits.per_fabric},
               {"peers_together", request.limits.peers_together},
               {"migration", json::parse(rdmove::toJson(options))}});
}

Result<Request> requestFromJson(const std::string& text) {
  std::string options;
  auto request = readDocument<Request>("read what an evacuation was asked for", text, [&](const json& in) {
    Request out;
    for (const json& host : in.at("destinations")) out.destinations.emplace_back(host.get<std::string>());
    out.limits.max_parallel = in.at("max_parallel").get<unsigned>();
    out.limits.per_fabric = in.at("per_fabric").get<unsigned>();
    out.limits.peers_together = in.at("peers_together").get<bool>();
    options = in.at("migration").dump();
    return out;
  });
  if (!request) return request;
  const auto plan = planFromJson(options);
  if (!plan) return tl::unexpected(plan.error());
  request->options = plan->options;
  return request;
}

std::string needToJson(const Need& need) {
  json vfs = json::object();
  for (const auto& [pool, count] : need.vfs) vfs[pool.str()] = count;
  json peers = json::array();
  for (const DomainUuid& peer : need.peers) peers.push_back(peer.str());
  return dump({{"memory_kib", need.memory_kib},
               {"vcpus", need.vcpus},
               {"vfs", std::move(vfs)},
               {"peers", std::move(peers)}});
}

Result<Need> needFromJson(const std::string& text) {
  return readDocument<Need>("read what a VM needs", text, [](const json& in) {
    Need need;
    need.memory_kib = in.at("memory_kib").get<std::uint64_t>();
    need.vcpus = in.at("vcpus").get<unsigned>();
    for (const auto& [pool, count] : in.at("vfs").items()) need.vfs[PoolName(pool)] = count.get<unsigned>();
    for (const json& peer : in.at("peers")) need.peers.insert(DomainUuid(peer.get<std::string>()));
    return need;
  });
}

std::string triesToJson(const std::vector<Try>& tries) {
  json list = json::array();
  for (const Try& each : tries) {
    list.push_back({{"destination", each.destination.str()},
                    {"migration", each.migration.str()},
                    {"reason", each.reason},
                    {"full", each.full}});
  }
  return dump(list);
}

Result<std::vector<Try>> triesFromJson(const std::string& text) {
  if (text.empty()) return std::vector<Try>();
  return readDocument<std::vector<Try>>("read what was tried with a VM", text, [](const json& in) {
    std::vector<Try> tries;
    for (const json& each : in) {
      tries.push_back({HostName(each.at("destination").get<std::string>()),
                       MigrationId(each.at("migration").get<std::string>()),
                       each.at("reason").get<std::string>(), each.at("full").get<bool>()});
    }
    return tries;
  });
}

}  // namespace rdmove::evacuation
