#include "coordinator/service/convert.hpp"

#include <array>

#include "coordinator/hypervisor/domain_xml.hpp"
#include "coordinator/service/convert_identity.hpp"

namespace rdmove {
namespace {

constexpr std::array kMarks = {std::pair{StepMark::kIntent, "intent"}, std::pair{StepMark::kDone, "done"},
                               std::pair{StepMark::kFailed, "failed"}, std::pair{StepMark::kNote, "note"},
                               std::pair{StepMark::kGuest, "guest"}};
constexpr std::array kOutcomes = {Outcome::kRunning,    Outcome::kCompleted, Outcome::kRefused,
                                  Outcome::kRolledBack, Outcome::kDegraded,  Outcome::kWithdrawn,
                                  Outcome::kSuperseded};

grpc::StatusCode statusCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kRefused:
    case ErrorCode::kHoldouts:
    case ErrorCode::kCancelled:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::kTimeout:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case ErrorCode::kConflict:
      return grpc::StatusCode::ALREADY_EXISTS;
    case ErrorCode::kExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kIncompatible:
      return grpc::StatusCode::UNIMPLEMENTED;
    case ErrorCode::kInternal:
      break;
  }
  return grpc::StatusCode::INTERNAL;
}

}  // namespace

grpc::Status toStatus(const Error& error) {
  return {statusCode(error.code), error.sentence()};
}

grpc::Status toLocalStatus(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kExhausted:
      return toStatus(error);
    case ErrorCode::kCancelled:
      return {grpc::StatusCode::UNAVAILABLE, error.sentence()};
    default:
      return {grpc::StatusCode::FAILED_PRECONDITION, error.sentence()};
  }
}

Error fromStatus(const grpc::Status& status, const std::string& attempted) {
  const std::string& text = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
      return {ErrorCode::kBadInput, attempted, text, ""};
    case grpc::StatusCode::NOT_FOUND:
      return {ErrorCode::kNotFound, attempted, text, ""};
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::PERMISSION_DENIED:
      return {ErrorCode::kRefused, attempted, text, ""};
    case grpc::StatusCode::ALREADY_EXISTS:
      return {ErrorCode::kConflict, attempted, text, ""};
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return {ErrorCode::kExhausted, attempted, text, ""};
    case grpc::StatusCode::UNIMPLEMENTED:
      if (!text.empty()) return {ErrorCode::kIncompatible, attempted, text, ""};
      return {ErrorCode::kIncompatible, attempted, "it does not speak this version of the API",
              "Install the same version of rdmove on both hosts."};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {ErrorCode::kTimeout, attempted, "it does not answer in time",
              "Is rdmoved running there, and its port open?"};
    case grpc::StatusCode::UNAVAILABLE:
      return {ErrorCode::kUnavailable, attempted, "it does not answer (" + text + ")",
              "Is rdmoved running there, are its port and the TLS certificates right?"};
    default:
      return {ErrorCode::kInternal, attempted, text, ""};
  }
}

std::string optionsRefusal(const v1::MigrateOptions& options) {
  if (options.parallel_connections() > 255) return "parallel_connections is more than 255";
  if (options.prepare_deadline_ms() > 600000) return "prepare_deadline_ms is more than 600000";
  if (options.postcopy() && options.parallel_connections() > 0)
    return "libvirt takes no --postcopy with --parallel";
  return {};
}

MigrationOptions fromMessage(const v1::MigrateOptions& message, std::chrono::milliseconds default_prepare) {
  MigrationOptions options;
  options.timeout = std::chrono::milliseconds(message.timeout_ms());
  if (message.bandwidth_mib() > 0) options.bandwidth_mib = message.bandwidth_mib();
  if (message.parallel_connections() > 0)
    options.parallel_connections = static_cast<int>(message.parallel_connections());
  options.postcopy = message.postcopy();
  options.auto_converge = message.auto_converge();
  options.copy_storage_all = message.copy_storage_all();
  options.tls = message.tls();
  if (!message.migrate_uri().empty()) options.migrate_uri = message.migrate_uri();
  options.force = message.force();
  options.prepare_deadline = message.prepare_deadline_ms() > 0
                                 ? std::chrono::milliseconds(message.prepare_deadline_ms())
                                 : default_prepare;
  return options;
}

v1::PartnerAdapter toMessage(const Adapter& adapter) {
  v1::PartnerAdapter message;
  message.set_alias(adapter.alias.str());
  message.set_driver(adapter.driver);
  message.set_firmware(adapter.firmware);
  message.set_mtu(static_cast<unsigned>(adapter.mtu.value_or(0)));
  message.set_speed_mbit(static_cast<unsigned>(adapter.speed_mbit.value_or(0)));
  message.set_pfc(adapter.pfc);
  message.set_ets(adapter.ets);
  return message;
}

v1::PartnerMachine toMessage(const GuestMachine& machine) {
  v1::PartnerMachine message;
  message.set_arch(machine.arch);
  message.set_virt_type(machine.virt_type);
  message.set_machine(machine.machine);
  message.set_cpu(machine.cpu);
  message.set_host_cpu(machine.host_cpu);
  return message;
}

SourceFacts factsOf(const v1::PartnerExamineRequest& request) {
  constexpr int kMostAdapters = 16;
  constexpr std::size_t kLongestWord = 64;
  constexpr unsigned kMostNumber = 100000000;
  constexpr std::size_t kLongestText = 1024;
  constexpr std::size_t kLongestCpu = 65536;
  SourceFacts facts;
  const auto number = [](unsigned value) {
    return value == 0 || value > kMostNumber ? std::nullopt : std::optional<int>(static_cast<int>(value));
  };
  for (const v1::PartnerAdapter& message : request.adapters()) {
    if (facts.adapters.size() == kMostAdapters) break;
    facts.adapters.push_back(
        {DeviceAlias(message.alias().substr(0, kLongestWord)), message.driver().substr(0, kLongestWord),
         message.firmware().substr(0, kLongestWord), number(message.mtu()), number(message.speed_mbit()),
         message.pfc().substr(0, kLongestWord), message.ets().substr(0, kLongestText)});
  }
  const v1::PartnerMachine& machine = request.machine();
  if (machine.cpu().size() <= kLongestCpu && machine.host_cpu().size() <= kLongestCpu) {
    facts.machine = {machine.arch().substr(0, kLongestWord), machine.virt_type().substr(0, kLongestWord),
                     machine.machine().substr(0, kLongestWord), machine.cpu(), machine.host_cpu()};
  }
  if (request.wall_us() > 0)
    facts.clock = std::chrono::system_clock::time_point(std::chrono::microseconds(request.wall_us()));
  return facts;
}

v1::TransferPoint toMessage(const TransferSample& sample) {
  v1::TransferPoint message;
  message.set_wall_us(sample.wall_us);
  message.set_remaining_bytes(sample.remaining_bytes);
  message.set_sent_bytes_per_second(sample.sent_bytes_per_second);
  message.set_dirty_bytes_per_second(sample.dirty_bytes_per_second);
  return message;
}

v1::MigrationSummary toMessage(const MigrationRecord& record) {
  v1::MigrationSummary message;
  message.set_id(record.id.str());
  message.set_role(std::string(toString(record.role)));
  message.set_domain(record.domain);
  message.set_uuid(record.uuid.str());
  message.set_partner(record.partner.str());
  message.set_phase(record.phase);
  message.set_outcome(std::string(toString(record.outcome)));
  message.set_error(record.error);
  message.set_created_us(record.created_us);
  message.set_updated_us(record.updated_us);
  return message;
}

v1::MigrationUpdate toMessage(const Update& update) {
  v1::MigrationUpdate message;
  *message.mutable_migration() = toMessage(update.record);
  auto* progress = message.mutable_progress();
  progress->set_total_bytes(update.progress.total_bytes);
  progress->set_remaining_bytes(update.progress.remaining_bytes);
  progress->set_dirty_bytes_per_second(update.progress.dirty_bytes_per_second);
  progress->set_iteration(update.progress.iteration);
  progress->set_elapsed_ms(static_cast<unsigned>(update.progress.elapsed.count()));
  message.set_message(update.message);
  return message;
}

v1::PlanSummary toMessage(const Plan& plan, const std::map<DeviceAlias, VfName>& source_vfs) {
  v1::PlanSummary message;
  message.set_domain(plan.domain);
  message.set_uuid(plan.uuid.str());
  message.set_persistent(plan.persistent);
  message.set_source(plan.source.str());
  message.set_destination(plan.destination.str());
  for (const MovingVf& moving : plan.vfs) {
    auto* vf = message.add_vfs();
    vf->set_alias(moving.declaration.alias.str());
    vf->set_pool(moving.declaration.pool.str());
    vf->set_model(std::string(toString(moving.declaration.model)));
    vf->set_continuity(std::string(toString(moving.declaration.continuity)));
    if (moving.declaration.identity.mac) vf->set_mac(moving.declaration.identity.mac->str());
    const auto device =
        findDevice("<domain><devices>" + moving.device_xml + "</devices></domain>", moving.declaration.alias);
    if (device && device->pci_address) vf->set_guest_pci_address(*device->pci_address);
    if (const auto found = source_vfs.find(moving.declaration.alias); found != source_vfs.end()) {
      vf->set_source_vf(found->second.str());
    }
  }
  return message;
}

v1::Step toMessage(const StepRecord& step) {
  v1::Step message;
  message.set_source(step.source);
  message.set_step(step.step);
  for (const auto& [mark, text] : kMarks) {
    if (mark == step.mark) message.set_mark(text);
  }
  message.set_detail(step.detail);
  message.set_wall_us(step.wall_us);
  message.set_boot_ns(step.boot_ns);
  return message;
}

StepRecord fromMessage(const v1::Step& message) {
  StepRecord step;
  step.source = message.source();
  step.step = message.step();
  step.mark = StepMark::kNote;
  for (const auto& [mark, text] : kMarks) {
    if (message.mark() == text) step.mark = mark;
  }
  step.detail = message.detail();
  step.wall_us = message.wall_us();
  step.boot_ns = message.boot_ns();
  return step;
}

v1::DeviceTraffic toMessage(const DeviceTraffic& traffic) {
  v1::DeviceTraffic message;
  message.set_rdma(traffic.rdma);
  message.set_port(traffic.port);
  message.set_data_of(traffic.data_of);
  for (const auto& [name, value] : traffic.values) (*message.mutable_traffic())[name] = value;
  return message;
}

Traffic fromMessages(const google::protobuf::RepeatedPtrField<v1::DeviceTraffic>& devices) {
  Traffic traffic;
  for (const v1::DeviceTraffic& device : devices) {
    traffic.push_back({device.rdma(), device.port(), device.data_of(), {}});
    for (const auto& [name, value] : device.traffic()) traffic.back().values[name] = value;
  }
  return bounded(std::move(traffic));
}

v1::Finding toMessage(const Finding& finding) {
  v1::Finding message;
  message.set_severity(static_cast<v1::Finding::Severity>(finding.severity));
  message.set_code(finding.code);
  message.set_sentence(finding.sentence);
  message.set_remedy(finding.remedy);
  message.set_host(finding.host);
  return message;
}

Finding fromMessage(const v1::Finding& message) {
  const Severity severity = message.severity() == v1::Finding::OK        ? Severity::kOk
                            : message.severity() == v1::Finding::WARNING ? Severity::kWarning
                                                                         : Severity::kError;
  return {severity, message.code(), message.sentence(), message.remedy(), message.host()};
}

v1::PartnerVf toMessage(const MovingVf& moving) {
  const VfDeclaration& declaration = moving.declaration;
  v1::PartnerVf message;
  message.set_alias(declaration.alias.str());
  message.set_pool(declaration.pool.str());
  message.set_model(std::string(toString(declaration.model)));
  message.set_continuity(std::string(toString(declaration.continuity)));
  fillIdentity(declaration.identity, message);
  message.set_device_xml(moving.device_xml);
  return message;
}

Result<MovingVf> fromMessage(const v1::PartnerVf& message) {
  const auto bad = [&](const std::string& field) {
    return failure(ErrorCode::kBadInput, "read the partner's request", "its field " + field + " is not valid",
                   "Install the same version of rdmove on both hosts.");
  };
  MovingVf moving;
  VfDeclaration& declaration = moving.declaration;
  if (message.alias().empty() || message.alias().size() > 128) return bad("alias");
  declaration.alias = DeviceAlias(message.alias());
  declaration.pool = PoolName(message.pool());
  const auto model = parseModel(message.model());
  const auto continuity = parseContinuity(message.continuity());
  if (!model) return bad("model");
  if (!continuity) return bad("continuity");
  declaration.model = *model;
  declaration.continuity = *continuity;
  auto identity = identityOf(message);
  if (!identity) return tl::unexpected(identity.error());
  declaration.identity = std::move(*identity);
  if (message.device_xml().size() > 65536) return bad("device_xml");
  // Taken apart and put together again here: a partner names no script, path or host device of ours.
  auto portable = portableDevice(message.device_xml());
  if (!portable) return bad("device_xml");
  const auto device = findDevice("<domain><devices>" + *portable + "</devices></domain>", declaration.alias);
  // A plain <hostdev> has no MAC of libvirt's: there it is the fabric's to program.
  const bool plain = device && device->kind == "hostdev" && !device->mac;
  if (!device || (!plain && device->mac != declaration.identity.mac)) return bad("device_xml");
  moving.device_xml = std::move(*portable);
  return moving;
}

v1::ArrivalReport toMessage(const ArrivalReport& report) {
  v1::ArrivalReport message;
  message.set_phase(report.phase);
  message.set_outcome(std::string(toString(report.outcome)));
  message.set_error(report.error);
  message.set_arrived(report.arrived);
  for (const StepRecord& step : report.steps) *message.add_steps() = toMessage(step);
  for (const DeviceTraffic& device : report.traffic_after) *message.add_traffic_after() = toMessage(device);
  return message;
}

ArrivalReport fromMessage(const v1::ArrivalReport& message) {
  ArrivalReport report;
  report.phase = message.phase();
  for (const Outcome outcome : kOutcomes) {
    if (message.outcome() == toString(outcome)) report.outcome = outcome;
  }
  report.error = message.error();
  report.arrived = message.arrived();
  for (const v1::Step& step : message.steps()) report.steps.push_back(fromMessage(step));
  report.traffic_after = fromMessages(message.traffic_after());
  return report;
}

}  // namespace rdmove
