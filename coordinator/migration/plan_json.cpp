#include "coordinator/migration/plan_json.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "coordinator/migration/identity_json.hpp"
#include "coordinator/migration/json_reader.hpp"

namespace rdmove {
namespace {

using nlohmann::json;
using plan_json::FieldError;
using plan_json::Object;

constexpr std::size_t kLargestText = 4U << 20;
constexpr std::size_t kMostVfs = 16;  // as in the metadata (docs/metadata.md)
constexpr std::int64_t kDay = 86'400'000;
constexpr int kDeepest = 8;

template <class T>
void put(json& object, const char* field, const std::optional<T>& value) {
  if (value) object[field] = *value;
}

std::string dump(const json& document) {
  // Names come from outside; what is not UTF-8 in them must not throw here.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

json vfJson(const MovingVf& vf) {
  const VfDeclaration& d = vf.declaration;
  return {{"alias", d.alias.str()},
          {"pool", d.pool.str()},
          {"model", std::string(toString(d.model))},
          {"continuity", std::string(toString(d.continuity))},
          {"identity", plan_json::identityJson(d.identity)},
          {"device_xml", vf.device_xml}};
}

MovingVf readVf(Object in) {
  MovingVf vf;
  vf.declaration.alias = DeviceAlias(in.text("alias"));
  vf.declaration.pool = PoolName(in.text("pool"));
  const std::string model = in.text("model");
  if (const auto parsed = parseModel(model))
    vf.declaration.model = *parsed;
  else
    in.fail("model", fmt::format("expected shared-port, virtual-switch or roce, found \"{}\"", model));
  const std::string continuity = in.text("continuity");
  if (const auto parsed = parseContinuity(continuity))
    vf.declaration.continuity = *parsed;
  else
    in.fail("continuity", fmt::format("expected reconnect, park or carry, found \"{}\"", continuity));
  vf.declaration.identity = plan_json::readIdentity(in.object("identity"));
  vf.device_xml = in.text("device_xml");
  in.rejectUnknown();
  return vf;
}

json optionsJson(const MigrationOptions& options) {
  json out = {{"timeout_ms", options.timeout.count()},
              {"postcopy", options.postcopy},
              {"auto_converge", options.auto_converge},
              {"copy_storage_all", options.copy_storage_all},
              {"tls", options.tls},
              {"force", options.force},
              {"prepare_deadline_ms", options.prepare_deadline.count()},
              {"hold_ms", options.hold.count()}};
  put(out, "bandwidth_mib", options.bandwidth_mib);
  put(out, "parallel_connections", options.parallel_connections);
  put(out, "migrate_uri", options.migrate_uri);
  return out;
}

MigrationOptions readOptions(Object in) {
  MigrationOptions options;
  options.timeout = std::chrono::milliseconds(in.number("timeout_ms", 0, 365 * kDay));
  if (const auto bandwidth = in.optionalNumber("bandwidth_mib", 0, std::numeric_limits<unsigned>::max())) {
    options.bandwidth_mib = static_cast<unsigned>(*bandwidth);
  }
  if (const auto connections =
          in.optionalNumber("parallel_connections", 0, std::numeric_limits<int>::max())) {
    options.parallel_connections = static_cast<int>(*connections);
  }
  options.postcopy = in.flag("postcopy");
  options.auto_converge = in.flag("auto_converge");
  options.copy_storage_all = in.flag("copy_storage_all");
  options.tls = in.flag("tls");
  options.migrate_uri = in.optionalText("migrate_uri");
  options.force = in.flag("force");
  options.prepare_deadline = std::chrono::milliseconds(in.number("prepare_deadline_ms", 0, kDay));
  if (const auto hold = in.optionalNumber("hold_ms", 0, kDay))
    options.hold = std::chrono::milliseconds(*hold);
  in.rejectUnknown();
  return options;
}

constexpr const char* kOurs = "rdmove";
constexpr const char* kAnotherMover = "another";

struct OtherVersion {
  std::int64_t version;
};

/// The version decides before any other field is looked at: another version may have other fields.
void checkVersion(Object& in) {
  const auto version = in.number("version", 0, std::numeric_limits<std::int32_t>::max());
  if (version != kPlanVersion) throw OtherVersion{version};
}

/// Parses with bounds on size and depth, so that a hostile text costs neither memory nor stack.
json parse(const std::string& text) {
  if (text.size() > kLargestText) throw FieldError{"document: larger than 4 MiB"};
  const json::parser_callback_t bounded = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) throw FieldError{fmt::format("document: deeper than {} levels", kDeepest)};
    return true;
  };
  return json::parse(text, bounded);
}

template <class Value, class Read>
Result<Value> readDocument(const char* attempted, const std::string& text, Read&& read) {
  try {
    const json document = parse(text);
    Object root(document, "");
    checkVersion(root);
    Value value = read(root);
    root.rejectUnknown();
    return value;
  } catch (const FieldError& error) {
    return failure(ErrorCode::kBadInput, attempted, error.sentence);
  } catch (const OtherVersion& other) {
    return failure(
        ErrorCode::kIncompatible, attempted,
        fmt::format("it has version {}, this rdmove knows version {}", other.version, kPlanVersion),
        "Run the rdmove that wrote it until its migration is over.");
  } catch (const json::exception& error) {
    return failure(ErrorCode::kBadInput, attempted, fmt::format("it is no JSON: {}", error.what()));
  }
}

}  // namespace

std::string toJson(const Plan& plan) {
  json vfs = json::array();
  for (const MovingVf& vf : plan.vfs) vfs.push_back(vfJson(vf));
  return dump({{"version", kPlanVersion},
               {"id", plan.id.str()},
               {"domain", plan.domain},
               {"uuid", plan.uuid.str()},
               {"persistent", plan.persistent},
               {"source", plan.source.str()},
               {"destination", plan.destination.str()},
               {"vfs", std::move(vfs)},
               {"options", optionsJson(plan.options)},
               {"mover", plan.mover == Mover::kAnother ? kAnotherMover : kOurs}});
}

Result<Plan> planFromJson(const std::string& text) {
  return readDocument<Plan>("read the plan", text, [](Object& in) {
    Plan plan;
    plan.id = MigrationId(in.text("id"));
    plan.domain = in.text("domain");
    plan.uuid = DomainUuid(in.text("uuid"));
    plan.persistent = in.flag("persistent");
    plan.source = HostName(in.text("source"));
    plan.destination = HostName(in.text("destination"));
    for (const Object& vf : in.objects("vfs", kMostVfs)) plan.vfs.push_back(readVf(vf));
    plan.options = readOptions(in.object("options"));
    // Versions before `prepare` had one mover, and no word for it.
    const std::string mover = in.optionalText("mover").value_or(kOurs);
    if (mover != kOurs && mover != kAnotherMover) throw FieldError{"mover: neither rdmove nor another"};
    plan.mover = mover == kOurs ? Mover::kRdmove : Mover::kAnother;
    return plan;
  });
}

std::string leasesToJson(const std::vector<LeasedVf>& leases) {
  json entries = json::array();
  for (const LeasedVf& lease : leases) {
    entries.push_back({{"alias", lease.alias.str()},
                       {"pool", lease.pool.str()},
                       {"vf", lease.vf.str()},
                       {"device_xml", lease.device_xml}});
  }
  return dump({{"version", kPlanVersion}, {"leases", std::move(entries)}});
}

Result<std::vector<LeasedVf>> leasesFromJson(const std::string& text) {
  return readDocument<std::vector<LeasedVf>>("read the leases", text, [](Object& in) {
    std::vector<LeasedVf> leases;
    for (Object entry : in.objects("leases", kMostVfs)) {
      leases.push_back({DeviceAlias(entry.text("alias")), PoolName(entry.text("pool")),
                        VfName(entry.text("vf")), entry.text("device_xml")});
      entry.rejectUnknown();
    }
    return leases;
  });
}

}  // namespace rdmove
