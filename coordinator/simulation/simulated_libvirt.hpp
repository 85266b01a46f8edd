// One libvirtd as one coordinator's calls see it. A call takes its time, and what it asked for is done by
// libvirtd even when the caller dies meanwhile. Called in fibers only.
#pragma once

#include "coordinator/simulation/world.hpp"

namespace rdmove::simulation {

class SimulatedLibvirt : public Hypervisor {
 public:
  SimulatedLibvirt(World& world, Host& host) : world_(world), host_(host) {}

  Result<DomainStatus> find(const std::string& name_or_uuid) override;
  Result<std::vector<DomainStatus>> list() override;
  Result<std::string> xml(const DomainUuid&, XmlKind) override;
  Result<void> define(const std::string& xml) override;
  Result<std::optional<std::string>> metadata(const DomainUuid&, XmlKind) override;
  Result<void> setMetadata(const DomainUuid&, XmlKind, const std::optional<std::string>&) override;
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
  Result<std::unique_ptr<ByteChannel>> openChannel(const DomainUuid&, const std::string&,
                                                   ChannelListener&) override;
  Result<HostSize> hostSize() override { return HostSize{16, 256ULL << 20U}; }
  Result<std::string> version() override { return std::string("simulated"); }

 private:
  struct Target {
    Guest& guest;
    Domain& domain;
  };
  /// The call reaches libvirtd, or does not.
  Result<void> call(const std::string& attempted);
  Result<Target> on(const DomainUuid& uuid, const std::string& attempted, bool active = true);
  /// What changes a domain waits for its job, as libvirt does.
  Result<void> waitForJob(const DomainUuid& uuid, const std::string& attempted);
  /// libvirtd does it after `time`, whether or not the caller lives; the call returns then.
  /// The effect comes although the caller is killed meanwhile: it must not know this object.
  Result<void> done(Duration time, std::function<Result<void>()> effect);
  DomainStatus statusOf(const Guest& guest, const Domain& domain) const;

  World& world_;
  Host& host_;
};

Result<void> plug(World& world, Host& host, const DomainUuid& uuid, const std::string& element);
/// The guest gives its device up, or does not, as its troubles have it; a paused guest does nothing.
void guestUnplugs(World& world, Host& host, const DomainUuid& uuid);

}  // namespace rdmove::simulation
