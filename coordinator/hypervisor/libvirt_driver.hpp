// The class behind makeLibvirtHypervisor. Private to the libvirt_*.cpp files, which share out its calls:
// libvirt_domains.cpp (state, definitions), libvirt_machine.cpp (CPUs, machine types), libvirt_devices.cpp, libvirt_jobs.cpp (migration, run state,
// channel).
#pragma once

#include "coordinator/hypervisor/hypervisor.hpp"
#include "coordinator/hypervisor/libvirt_connection.hpp"
#include "coordinator/hypervisor/libvirt_workers.hpp"

namespace rdmove {

class LibvirtDriver final : public Hypervisor {
 public:
  LibvirtDriver(const std::string& uri, LibvirtEventLoop& loop, HypervisorListener& listener);
  ~LibvirtDriver() override;

  Result<void> start() { return connection_.start(); }

  Result<DomainStatus> find(const std::string& name_or_uuid) override;
  Result<std::vector<DomainStatus>> list() override;
  Result<std::string> xml(const DomainUuid&, XmlKind) override;
  Result<void> define(const std::string& xml) override;
  Result<std::optional<std::string>> metadata(const DomainUuid&, XmlKind) override;
  Result<void> setMetadata(const DomainUuid&, XmlKind, const std::optional<std::string>& element) override;
  Result<HostSize> hostSize() override;
  Result<std::string> hostCpu() override;
  Result<MachineVerdict> judge(const GuestMachine&) override;
  Result<std::string> version() override;

  Result<void> detach(const DomainUuid&, const DeviceAlias&) override;
  Result<void> attach(const DomainUuid&, const std::string& device_xml) override;

  Result<void> takeFromHost(const std::string& pci) override;
  Result<void> giveToHost(const std::string& pci) override;

  Result<void> migrate(const MigrationRequest&) override;
  Result<void> startPostcopy(const DomainUuid&) override;
  Result<void> abortJob(const DomainUuid&) override;
  Result<JobProgress> progress(const DomainUuid&) override;
  Result<void> resume(const DomainUuid&) override;
  Result<void> suspend(const DomainUuid&) override;
  Result<void> destroy(const DomainUuid&) override;
  Result<void> undefine(const DomainUuid&) override;
  Result<std::unique_ptr<ByteChannel>> openChannel(const DomainUuid&, const std::string& port,
                                                   ChannelListener&) override;

 private:
  struct Target {
    ConnectionRef connection;
    DomainRef domain;
  };

  Result<void> withNodeDevice(const std::string& pci, const std::string& attempted,
                              int (*change)(virNodeDevicePtr));
  Result<Target> quick(const DomainUuid& uuid, const std::string& attempted);  ///< on the shared connection
  Result<Target> slow(const DomainUuid& uuid, const std::string& attempted);   ///< on one of its own

  LibvirtConnection connection_;
  std::shared_ptr<LibvirtWorkers> workers_;
};

}  // namespace rdmove
