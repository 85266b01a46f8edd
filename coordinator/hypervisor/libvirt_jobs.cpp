// Migration, its job, the run state, and the channel to the guest.
#include <memory>

#include "coordinator/hypervisor/libvirt_channel.hpp"
#include "coordinator/hypervisor/libvirt_driver.hpp"

namespace rdmove {
namespace {

/// virTypedParameter list that is freed. Setters fail only without memory or on a broken key: both end in
/// add().
class Params {
 public:
  Params() = default;
  ~Params() { virTypedParamsFree(list_, count_); }
  Params(const Params&) = delete;
  Params& operator=(const Params&) = delete;

  void add(const char* key, const std::string& value) {
    ok_ = ok_ && virTypedParamsAddString(&list_, &count_, &room_, key, value.c_str()) == 0;
  }
  void add(const char* key, unsigned long long value) {
    ok_ = ok_ && virTypedParamsAddULLong(&list_, &count_, &room_, key, value) == 0;
  }
  void add(const char* key, int value) {
    ok_ = ok_ && virTypedParamsAddInt(&list_, &count_, &room_, key, value) == 0;
  }
  bool ok() const { return ok_; }
  virTypedParameterPtr list() const { return list_; }
  unsigned count() const { return static_cast<unsigned>(count_); }

 private:
  virTypedParameterPtr list_ = nullptr;
  int count_ = 0, room_ = 0;
  bool ok_ = true;
};

unsigned flagsOf(const MigrationRequest& request) {
  unsigned flags = VIR_MIGRATE_PEER2PEER | VIR_MIGRATE_LIVE;
  if (request.persistent) flags |= VIR_MIGRATE_PERSIST_DEST | VIR_MIGRATE_UNDEFINE_SOURCE;
  if (request.postcopy) flags |= VIR_MIGRATE_POSTCOPY;
  if (request.auto_converge) flags |= VIR_MIGRATE_AUTO_CONVERGE;
  if (request.copy_storage_all) flags |= VIR_MIGRATE_NON_SHARED_DISK;
  if (request.tls) flags |= VIR_MIGRATE_TLS;
  if (request.parallel_connections) flags |= VIR_MIGRATE_PARALLEL;
  return flags;
}

void fill(Params& params, const MigrationRequest& request) {
  if (request.migration_uri) params.add(VIR_MIGRATE_PARAM_URI, *request.migration_uri);
  if (request.persistent && request.persist_xml)
    params.add(VIR_MIGRATE_PARAM_PERSIST_XML, *request.persist_xml);
  if (request.bandwidth_mib) {
    params.add(VIR_MIGRATE_PARAM_BANDWIDTH, static_cast<unsigned long long>(*request.bandwidth_mib));
  }
  if (request.parallel_connections) {
    params.add(VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS, *request.parallel_connections);
  }
}

std::uint64_t number(virTypedParameterPtr list, int count, const char* key) {
  unsigned long long value = 0;
  virTypedParamsGetULLong(list, count, key, &value);
  return value;
}

bool isIn(virDomainPtr domain, int wanted) {
  int state = 0;
  return virDomainGetState(domain, &state, nullptr, 0) == 0 && state == wanted;
}

bool hasChannel(virDomainPtr domain, const std::string& port) {
  const CText xml(virDomainGetXMLDesc(domain, 0));
  if (!xml) return true;
  const std::string text = xml.get();
  return text.find("name='" + port + "'") != std::string::npos;
}

}  // namespace

Result<void> LibvirtDriver::migrate(const MigrationRequest& request) {
  const std::string attempted = "migrate " + request.domain.str() + " to " + request.destination_uri;
  auto target = slow(request.domain, attempted);
  if (!target) return tl::unexpected(target.error());
  Params params;
  fill(params, request);
  if (!params.ok()) return libvirtFailure(attempted);
  if (virDomainMigrateToURI3(target->domain.get(), request.destination_uri.c_str(), params.list(),
                             params.count(), flagsOf(request)) == 0) {
    return {};
  }
  auto error = libvirtFailure(attempted);
  if (error.value().code == ErrorCode::kUnavailable) {
    error.value().remedy = virConnectIsAlive(target->connection.get()) == 1
                               ? "Check that libvirtd runs on the destination and that this host reaches it."
                               : "The transfer may still go on: look at the domain on both hosts.";
  }
  return error;
}

Result<void> LibvirtDriver::startPostcopy(const DomainUuid& uuid) {
  const std::string attempted = "switch the migration of " + uuid.str() + " to post-copy";
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainMigrateStartPostCopy(target->domain.get(), 0) < 0) return libvirtFailure(attempted);
  return {};
}

Result<void> LibvirtDriver::abortJob(const DomainUuid& uuid) {
  const std::string attempted = "abort the job of " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainAbortJob(target->domain.get()) < 0) return libvirtFailure(attempted);
  return {};
}

Result<JobProgress> LibvirtDriver::progress(const DomainUuid& uuid) {
  const std::string attempted = "read the progress of " + uuid.str();
  auto target = quick(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  int type = VIR_DOMAIN_JOB_NONE, count = 0;
  virTypedParameterPtr list = nullptr;
  if (virDomainGetJobStats(target->domain.get(), &type, &list, &count, 0) < 0)
    return libvirtFailure(attempted);
  JobProgress progress;
  progress.active = type == VIR_DOMAIN_JOB_BOUNDED || type == VIR_DOMAIN_JOB_UNBOUNDED;
  progress.total_bytes = number(list, count, VIR_DOMAIN_JOB_DATA_TOTAL);
  progress.remaining_bytes = number(list, count, VIR_DOMAIN_JOB_DATA_REMAINING);
  progress.dirty_bytes_per_second = number(list, count, VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE) *
                                    number(list, count, VIR_DOMAIN_JOB_MEMORY_PAGE_SIZE);
  progress.iteration = number(list, count, VIR_DOMAIN_JOB_MEMORY_ITERATION);
  progress.elapsed = std::chrono::milliseconds(number(list, count, VIR_DOMAIN_JOB_TIME_ELAPSED));
  virTypedParamsFree(list, count);
  return progress;
}

Result<void> LibvirtDriver::resume(const DomainUuid& uuid) {
  const std::string attempted = "resume " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainResume(target->domain.get()) == 0) return {};
  auto error = libvirtFailure(attempted);
  if (isIn(target->domain.get(), VIR_DOMAIN_RUNNING)) return {};
  return error;
}

Result<void> LibvirtDriver::suspend(const DomainUuid& uuid) {
  const std::string attempted = "suspend " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainSuspend(target->domain.get()) == 0) return {};
  auto error = libvirtFailure(attempted);
  if (isIn(target->domain.get(), VIR_DOMAIN_PAUSED)) return {};
  return error;
}

Result<void> LibvirtDriver::destroy(const DomainUuid& uuid) {
  const std::string attempted = "destroy " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainDestroy(target->domain.get()) == 0) return {};
  auto error = libvirtFailure(attempted);
  if (isIn(target->domain.get(), VIR_DOMAIN_SHUTOFF)) return {};
  return error;
}

Result<void> LibvirtDriver::undefine(const DomainUuid& uuid) {
  const std::string attempted = "undefine " + uuid.str();
  auto target = slow(uuid, attempted);
  if (!target) return tl::unexpected(target.error());
  if (virDomainUndefineFlags(target->domain.get(), VIR_DOMAIN_UNDEFINE_KEEP_NVRAM) == 0) return {};
  return libvirtFailure(attempted);
}

Result<std::unique_ptr<ByteChannel>> LibvirtDriver::openChannel(const DomainUuid& uuid,
                                                                const std::string& port,
                                                                ChannelListener& listener) {
  auto target = slow(uuid, "open channel " + port + " of " + uuid.str());
  if (!target) return tl::unexpected(target.error());
  auto channel = openLibvirtChannel(target->connection, target->domain.get(), port, listener, workers_);
  if (!channel && channel.error().code == ErrorCode::kInternal && !hasChannel(target->domain.get(), port)) {
    channel.error().code = ErrorCode::kNotFound;
    channel.error().remedy = "Add a virtio channel named " + port + " to the domain, and start it anew.";
  }
  return channel;
}

}  // namespace rdmove
