// What the coordinator needs of the hypervisor, in its own words: no libvirt type crosses this header.
// Calls block (the migrate call for the whole transfer) and are made from worker threads; events come on
// the hypervisor's own thread, and the listener must only post them to the loop.
// The one real implementation is libvirt_hypervisor.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"
#include "coordinator/hypervisor/channel.hpp"

namespace rdmove {

enum class DomainState { kAbsent, kShutOff, kRunning, kPaused, kPausedByMigration, kPausedPostcopy, kOther };

/// Why a running domain runs: libvirt's state reason, where it decides something for us.
enum class RunReason { kOther, kMigrated, kMigrationCanceled, kPostcopy };

struct DomainStatus {
  std::string name;
  DomainUuid uuid;
  DomainState state = DomainState::kAbsent;
  RunReason run_reason = RunReason::kOther;
  bool persistent = false;
  bool migration_job = false;  ///< a migration job (in or out) is active on it
  std::string state_text;      ///< for people: "running (migrated)"
};

/// The host itself, whoever uses it.
struct HostSize {
  unsigned cpus = 0;
  std::uint64_t free_memory_kib = 0;  ///< that no process has, page cache included
};

/// What a guest needs of the machine below it, in libvirt's words.
struct GuestMachine {
  std::string arch;       ///< "x86_64"
  std::string virt_type;  ///< "kvm", "qemu"
  std::string machine;    ///< "pc-q35-7.2"
  std::string cpu;        ///< the <cpu> element of the running domain; empty: it has none
  std::string host_cpu;   ///< of its host, when the guest sees that one (host-passthrough); else empty
};

/// Why a host cannot run such a guest, one sentence of libvirt's each; empty: it can, or libvirt cannot tell.
struct MachineVerdict {
  std::string machine;   ///< no such machine type, or no KVM
  std::string cpu;       ///< the guest's CPU has what this host's lacks
  std::string host_cpu;  ///< the source host's CPU has what this host's lacks
};

enum class XmlKind { kLive, kInactive };

struct MigrationRequest {
  DomainUuid domain;
  std::string destination_uri;               ///< "qemu+tls://hostb/system", peer to peer
  std::optional<std::string> migration_uri;  ///< "tcp://hostb"
  std::optional<std::string> persist_xml;    ///< definition for the destination; only for persistent domains
  bool persistent = false;                   ///< PERSIST_DEST and UNDEFINE_SOURCE
  bool postcopy = false;                     ///< allow post-copy; the caller switches with startPostcopy
  bool auto_converge = false;
  bool copy_storage_all = false;
  bool tls = false;
  std::optional<unsigned> bandwidth_mib;
  std::optional<int> parallel_connections;
};

struct JobProgress {
  bool active = false;
  std::uint64_t total_bytes = 0;
  std::uint64_t remaining_bytes = 0;
  std::uint64_t dirty_bytes_per_second = 0;
  std::uint64_t iteration = 0;
  std::chrono::milliseconds elapsed{0};
};

enum class Lifecycle { kDefined, kUndefined, kStarted, kSuspended, kResumed, kStopped, kShutdown, kCrashed };

/// detail of a lifecycle event, where it decides something. Anything else is kOther. kMigrated: STARTED and
/// RESUMED on the destination, SUSPENDED (for the switch) and STOPPED on the source. kMigrating is never
/// sent: libvirt has no such.
enum class LifecycleDetail { kOther, kMigrated, kPostcopy, kPostcopyFailed, kFailed, kMigrating };

class HypervisorListener {
 public:
  virtual ~HypervisorListener() = default;
  virtual void onLifecycle(const DomainUuid&, Lifecycle, LifecycleDetail) = 0;
  virtual void onDeviceRemoved(const DomainUuid&, const DeviceAlias&) = 0;
  virtual void onDeviceRemovalFailed(const DomainUuid&, const DeviceAlias&) = 0;
  virtual void onMigrationIteration(const DomainUuid&, int iteration) = 0;
  virtual void onJobCompleted(const DomainUuid&) = 0;
  /// After true every event before it may have been missed: look at the state again.
  virtual void onConnection(bool connected) = 0;
};

class Hypervisor {
 public:
  virtual ~Hypervisor() = default;

  /// By name or UUID. kNotFound when this host has no such domain.
  virtual Result<DomainStatus> find(const std::string& name_or_uuid) = 0;
  virtual Result<std::vector<DomainStatus>> list() = 0;
  virtual Result<std::string> xml(const DomainUuid&, XmlKind) = 0;
  /// Replaces the persistent definition.
  virtual Result<void> define(const std::string& xml) = 0;
  /// The rdmove metadata element; nullopt when there is none. See metadata.hpp for its form.
  virtual Result<std::optional<std::string>> metadata(const DomainUuid&, XmlKind) = 0;
  virtual Result<void> setMetadata(const DomainUuid&, XmlKind, const std::optional<std::string>& element) = 0;

  /// Only asks; the proof is onDeviceRemoved or the live XML. kNotFound when there is no such device.
  virtual Result<void> detach(const DomainUuid&, const DeviceAlias&) = 0;
  /// Live only. Idempotent by the user alias: present already is success. kConflict: job lock, try again.
  virtual Result<void> attach(const DomainUuid&, const std::string& device_xml) = 0;

  /// A PCI device ("0000:3b:00.2") taken from the host's driver, for VFIO; blocks while that lets go. Success
  /// when VFIO has it already. kConflict when a domain has it.
  virtual Result<void> takeFromHost(const std::string& pci) {
    return failure(ErrorCode::kInternal, "take " + pci + " from the host", "this hypervisor cannot");
  }
  /// The reverse: the kernel chooses the driver, as when the device is new.
  virtual Result<void> giveToHost(const std::string& pci) {
    return failure(ErrorCode::kInternal, "give " + pci + " to the host", "this hypervisor cannot");
  }

  /// Blocks until libvirt's peer-to-peer migration has ended.
  virtual Result<void> migrate(const MigrationRequest&) = 0;
  virtual Result<void> startPostcopy(const DomainUuid&) = 0;
  virtual Result<void> abortJob(const DomainUuid&) = 0;
  virtual Result<JobProgress> progress(const DomainUuid&) = 0;
  virtual Result<void> resume(const DomainUuid&) = 0;
  virtual Result<void> suspend(const DomainUuid&) = 0;
  virtual Result<void> destroy(const DomainUuid&) = 0;
  /// Removes the definition of a domain that does not run; its NVRAM and its disks stay.
  virtual Result<void> undefine(const DomainUuid& uuid) {
    return failure(ErrorCode::kInternal, "undefine " + uuid.str(), "this hypervisor cannot");
  }

  /// A virtio-serial port of the running domain as a byte stream (channel.hpp). kConflict: somebody has it
  /// open.
  virtual Result<std::unique_ptr<ByteChannel>> openChannel(const DomainUuid&, const std::string& port,
                                                           ChannelListener&) = 0;

  virtual Result<HostSize> hostSize() {
    return failure(ErrorCode::kInternal, "look how large the host is", "this hypervisor cannot");
  }

  /// This host's CPU as an element for GuestMachine::host_cpu.
  virtual Result<std::string> hostCpu() {
    return failure(ErrorCode::kInternal, "look at the host's CPU", "this hypervisor cannot");
  }
  virtual Result<MachineVerdict> judge(const GuestMachine&) {
    return failure(ErrorCode::kInternal, "look whether the guest can run here", "this hypervisor cannot");
  }

  /// Which of these the host's libvirt can do is looked at, never assumed: "libvirt 9.0.0, QEMU 7.2.22".
  virtual Result<std::string> version() = 0;
};

}  // namespace rdmove
