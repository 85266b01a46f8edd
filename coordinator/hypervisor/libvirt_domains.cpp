// State, definitions and metadata of domains.
#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "coordinator/hypervisor/libvirt_driver.hpp"
#include "coordinator/hypervisor/libvirt_hypervisor.hpp"
#include "coordinator/hypervisor/metadata.hpp"

namespace rdmove {
namespace {

struct StateWords {
  DomainState state;
  RunReason reason;
  const char* text;
};

StateWords running(int reason) {
  switch (reason) {
    case VIR_DOMAIN_RUNNING_MIGRATED:
      return {DomainState::kRunning, RunReason::kMigrated, "running (migrated)"};
    case VIR_DOMAIN_RUNNING_MIGRATION_CANCELED:
      return {DomainState::kRunning, RunReason::kMigrationCanceled, "running (migration canceled)"};
    case VIR_DOMAIN_RUNNING_POSTCOPY:
      return {DomainState::kRunning, RunReason::kPostcopy, "running (post-copy)"};
    case VIR_DOMAIN_RUNNING_POSTCOPY_FAILED:
      return {DomainState::kRunning, RunReason::kPostcopy, "running (post-copy failed)"};
    default:
      return {DomainState::kRunning, RunReason::kOther, "running"};
  }
}

StateWords paused(int reason) {
  switch (reason) {
    case VIR_DOMAIN_PAUSED_MIGRATION:
      return {DomainState::kPausedByMigration, RunReason::kOther, "paused (migrating)"};
    case VIR_DOMAIN_PAUSED_POSTCOPY:
      return {DomainState::kPausedPostcopy, RunReason::kOther, "paused (post-copy)"};
    case VIR_DOMAIN_PAUSED_POSTCOPY_FAILED:
      return {DomainState::kPausedPostcopy, RunReason::kOther, "paused (post-copy failed)"};
    case VIR_DOMAIN_PAUSED_USER:
      return {DomainState::kPaused, RunReason::kOther, "paused (user)"};
    case VIR_DOMAIN_PAUSED_IOERROR:
      return {DomainState::kPaused, RunReason::kOther, "paused (I/O error)"};
    default:
      return {DomainState::kPaused, RunReason::kOther, "paused"};
  }
}

StateWords stateWords(int state, int reason) {
  switch (state) {
    case VIR_DOMAIN_RUNNING:
    case VIR_DOMAIN_BLOCKED:
      return running(reason);
    case VIR_DOMAIN_PAUSED:
      return paused(reason);
    case VIR_DOMAIN_SHUTOFF:
      return {DomainState::kShutOff, RunReason::kOther, "shut off"};
    case VIR_DOMAIN_SHUTDOWN:
      return {DomainState::kOther, RunReason::kOther, "in shutdown"};
    case VIR_DOMAIN_CRASHED:
      return {DomainState::kOther, RunReason::kOther, "crashed"};
    case VIR_DOMAIN_PMSUSPENDED:
      return {DomainState::kOther, RunReason::kOther, "suspended by the guest"};
    default:
      return {DomainState::kOther, RunReason::kOther, "unknown to this version"};
  }
}

/// virDomainGetControlInfo would never wait, but shows an asynchronous job only while a short one runs inside
/// it.
Result<bool> hasMigrationJob(virDomainPtr domain) {
  const std::string attempted = std::string("read the job of ") + virDomainGetName(domain);
  int type = VIR_DOMAIN_JOB_NONE;
  int count = 0;
  virTypedParameterPtr params = nullptr;
  if (virDomainGetJobStats(domain, &type, &params, &count, 0) < 0) {
    auto error = libvirtFailure(attempted);
    const int code = lastLibvirtCode();
    if (code == VIR_ERR_NO_SUPPORT) return false;
    if (code == VIR_ERR_OPERATION_INVALID) return false;  // stopped meanwhile
    // "migration statistics are available only on the source host": the one job that has none is incoming
    if (code == VIR_ERR_OPERATION_UNSUPPORTED) return true;
    return error;
  }
  int operation = VIR_DOMAIN_JOB_OPERATION_UNKNOWN;
  virTypedParamsGetInt(params, count, VIR_DOMAIN_JOB_OPERATION, &operation);
  virTypedParamsFree(params, count);
  return type != VIR_DOMAIN_JOB_NONE && (operation == VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN ||
                                         operation == VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT);
}

Result<DomainStatus> statusOf(virDomainPtr domain) {
  DomainStatus status;
  status.name = virDomainGetName(domain);
  char uuid[VIR_UUID_STRING_BUFLEN];
  virDomainGetUUIDString(domain, uuid);
  status.uuid = DomainUuid(uuid);
  int state = 0, reason = 0;
  if (virDomainGetState(domain, &state, &reason, 0) < 0)
    return libvirtFailure("read the state of " + status.name);
  const StateWords words = stateWords(state, reason);
  status.state = words.state;
  status.run_reason = words.reason;
  status.state_text = words.text;
  const int persistent = virDomainIsPersistent(domain);
  if (persistent < 0) return libvirtFailure("read the state of " + status.name);
  status.persistent = persistent == 1;
  if (words.state == DomainState::kShutOff) return status;
  const auto job = hasMigrationJob(domain);
  if (!job) return tl::unexpected(job.error());
  status.migration_job = *job;
  return status;
}

/// Taken for a UUID only in its full form: a domain may be named "1234".
bool isUuid(const std::string& text) {
  return text.size() == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-';
}

unsigned affects(XmlKind kind) {
  return kind == XmlKind::kLive ? VIR_DOMAIN_AFFECT_LIVE : VIR_DOMAIN_AFFECT_CONFIG;
}

std::string versionText(unsigned long number) {
  return fmt::format("{}.{}.{}", number / 1000000, number / 1000 % 1000, number % 1000);
}

}  // namespace

LibvirtDriver::LibvirtDriver(const std::string& uri, LibvirtEventLoop& loop, HypervisorListener& listener)
    : connection_(uri, loop, listener), workers_(std::make_shared<LibvirtWorkers>()) {}

LibvirtDriver::~LibvirtDriver() {
  workers_->stop();
}

Result<LibvirtDriver::Target> LibvirtDriver::quick(const DomainUuid& uuid, const std::string& attempted) {
  auto connection = connection_.shared();
  if (!connection) return tl::unexpected(connection.error());
  auto domain = lookup(*connection, uuid, attempted);
  if (!domain) return tl::unexpected(domain.error());
  return Target{std::move(*connection), std::move(*domain)};
}

Result<LibvirtDriver::Target> LibvirtDriver::slow(const DomainUuid& uuid, const std::string& attempted) {
  auto connection = connection_.forCall();
  if (!connection) return tl::unexpected(connection.error());
  auto domain = lookup(*connection, uuid, attempted);
  if (!domain) return tl::unexpected(domain.error());
  return Target{std::move(*connection), std::move(*domain)};
}

Result<DomainStatus> LibvirtDriver::find(const std::string& name_or_uuid) {
  auto connection = connection_.shared();
  if (!connection) return tl::unexpected(connection.error());
  DomainRef domain;
  if (isUuid(name_or_uuid))
    domain.reset(virDomainLookupByUUIDString(connection->get(), name_or_uuid.c_str()));
  if (!domain) domain.reset(virDomainLookupByName(connection->get(), name_or_uuid.c_str()));
  if (!domain) return libvirtFailure("find domain " + name_or_uuid);
  return statusOf(domain.get());
}

Result<std::vector<DomainStatus>> LibvirtDriver::list() {
  auto connection = connection_.shared();
  if (!connection) return tl::unexpected(connection.error());
  virDomainPtr* domains = nullptr;
  const int count = virConnectListAllDomains(connection->get(), &domains, 0);
  if (count < 0) return libvirtFailure("list the domains");
  std::vector<DomainRef> owned(domains, domains + count);
  CFree{}(domains);
  std::vector<DomainStatus> all;
  for (const DomainRef& domain : owned) {
    auto status = statusOf(domain.get());
    if (status) {
      all.push_back(std::move(*status));
    } else if (status.error().code != ErrorCode::kNotFound) {  // else it went meanwhile
      return tl::unexpected(status.error());
    }
  }
  return all;
}

Result<std::string> LibvirtDriver::xml(const DomainUuid& uuid, XmlKind kind) {
  const std::string attempted = "read the definition of " + uuid.str();
  auto target = quick(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  // An inactive definition is read to be written back: without SECURE its passwords would be lost.
  const unsigned flags = kind == XmlKind::kLive ? 0 : VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE;
  const CText text(virDomainGetXMLDesc(target->domain.get(), flags));
  if (!text) return libvirtFailure(attempted);
  return std::string(text.get());
}

Result<void> LibvirtDriver::define(const std::string& xml) {
  auto connection = connection_.forCall();
  if (!connection) return tl::unexpected(connection.error());
  const DomainRef domain(virDomainDefineXMLFlags(connection->get(), xml.c_str(), 0));
  if (!domain) return libvirtFailure("define the domain");
  return {};
}

Result<std::optional<std::string>> LibvirtDriver::metadata(const DomainUuid& uuid, XmlKind kind) {
  const std::string attempted = "read the rdmove metadata of " + uuid.str();
  auto target = quick(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  const CText text(
      virDomainGetMetadata(target->domain.get(), VIR_DOMAIN_METADATA_ELEMENT, kMetadataUri, affects(kind)));
  if (text) return std::optional<std::string>(text.get());
  if (lastLibvirtCode() == VIR_ERR_NO_DOMAIN_METADATA) return std::nullopt;
  return libvirtFailure(attempted);
}

Result<void> LibvirtDriver::setMetadata(const DomainUuid& uuid, XmlKind kind,
                                        const std::optional<std::string>& element) {
  const std::string attempted = "write the rdmove metadata of " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  const char* text = element ? element->c_str() : nullptr;
  if (virDomainSetMetadata(target->domain.get(), VIR_DOMAIN_METADATA_ELEMENT, text, kMetadataKey,
                           kMetadataUri, affects(kind)) < 0) {
    return libvirtFailure(attempted);
  }
  return {};
}

Result<std::string> LibvirtDriver::version() {
  auto connection = connection_.shared();
  if (!connection) return tl::unexpected(connection.error());
  unsigned long library = 0, hypervisor = 0;
  if (virConnectGetLibVersion(connection->get(), &library) < 0 ||
      virConnectGetVersion(connection->get(), &hypervisor) < 0) {
    return libvirtFailure("read libvirt's version");
  }
  const char* type = virConnectGetType(connection->get());
  return fmt::format("libvirt {}, {} {}", versionText(library), type != nullptr ? type : "hypervisor",
                     versionText(hypervisor));
}

/// Memory by the kernel's own estimate: libvirt's free and cached would count the memory of VMs on memfd as
/// free.
Result<HostSize> LibvirtDriver::hostSize() {
  const std::string attempted = "look how large the host is";
  auto connection = connection_.shared();
  if (!connection) return tl::unexpected(connection.error());
  virNodeInfo node{};
  if (virNodeGetInfo(connection->get(), &node) < 0) return libvirtFailure(attempted);
  std::ifstream file("/proc/meminfo");
  std::string field;
  std::uint64_t kib = 0;
  for (std::string unit; file >> field >> kib && std::getline(file, unit);) {
    if (field == "MemAvailable:") return HostSize{node.cpus, kib};
  }
  return failure(ErrorCode::kUnavailable, attempted, "/proc/meminfo has no MemAvailable");
}

Result<std::unique_ptr<Hypervisor>> makeLibvirtHypervisor(const std::string& uri, LibvirtEventLoop& loop,
                                                          HypervisorListener& listener) {
  auto driver = std::make_unique<LibvirtDriver>(uri, loop, listener);
  if (auto started = driver->start(); !started) return tl::unexpected(started.error());
  return std::unique_ptr<Hypervisor>(std::move(driver));
}

}  // namespace rdmove
