#include "coordinator/fabric/identity/vf_port.hpp"

#include <fmt/format.h>

namespace rdmove::fabric {

std::string_view toString(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::kEthernet:
      return "Ethernet";
    case LinkLayer::kInfiniBand:
      return "InfiniBand";
    case LinkLayer::kUnknown:
      break;
  }
  return "unknown";
}

Result<std::vector<VfSettings>> VfPort::readAll(const PfPlace& pf) {
  std::vector<VfSettings> all;
  for (unsigned index = 0; index < pf.vfs; ++index) {
    auto settings = read(VfPlace{pf, index, ""});
    if (!settings) return tl::unexpected<Error>(settings.error());
    all.push_back(std::move(*settings));
  }
  return all;
}

/// mlx5 over rtnetlink tells what was set since the driver was loaded, and its firmware says 0 for "none".
bool VfPort::isTold(const VfPlace&, Field field, const VfSettings& now) {
  VfSettings zero;
  zero.node_guid = zero.port_guid = Guid();
  const bool guid = field == Field::kNodeGuid || field == Field::kPortGuid;
  return has(now, field) && !(guid && same(field, now, zero));
}

Result<std::vector<PartitionKey>> VfPort::portPartitions(const VfPlace&) {
  return std::vector<PartitionKey>{};
}

Result<LiveTables> VfPort::tables(const VfPlace&) {
  return LiveTables{};
}

namespace {

class ChosenPort : public VfPort {
 public:
  ChosenPort(SysfsFiles& files, std::unique_ptr<VfPort> netlink)
      : files_(files),
        netlink_(std::move(netlink)),
        mlx5_(makeMlx5SysfsPort(files)),
        mlx4_(makeMlx4SysfsPort(files)) {}

  Result<VfSettings> read(const VfPlace& vf) override { return of(vf.pf).read(vf); }
  Result<std::vector<VfSettings>> readAll(const PfPlace& pf) override { return of(pf).readAll(pf); }
  std::set<Field> settable(const VfPlace& vf) override { return of(vf.pf).settable(vf); }
  Result<void> write(const VfPlace& vf, Field field, const VfSettings& values) override {
    return of(vf.pf).write(vf, field, values);
  }
  VfSettings nobody(const VfPlace& vf, const VfSettings& now) override { return of(vf.pf).nobody(vf, now); }
  bool isTold(const VfPlace& vf, Field field, const VfSettings& now) override {
    return of(vf.pf).isTold(vf, field, now);
  }
  Result<std::vector<PartitionKey>> portPartitions(const VfPlace& vf) override {
    return of(vf.pf).portPartitions(vf);
  }
  Result<LiveTables> tables(const VfPlace& vf) override { return of(vf.pf).tables(vf); }
  std::string whereToLook(const VfPlace& vf) override { return of(vf.pf).whereToLook(vf); }

 private:
  /// The vendor's files are preferred to netlink: they ask the firmware, where netlink tells what was set.
  VfPort& of(const PfPlace& pf) {
    if (pf.layer != LinkLayer::kInfiniBand) return *netlink_;
    if (files_.exists(fmt::format("class/infiniband/{}/iov", pf.rdma))) return *mlx4_;
    if (files_.exists(fmt::format("bus/pci/devices/{}/sriov/0/node", pf.pci))) return *mlx5_;
    return *netlink_;
  }

  SysfsFiles& files_;
  std::unique_ptr<VfPort> netlink_;
  std::unique_ptr<VfPort> mlx5_;
  std::unique_ptr<VfPort> mlx4_;
};

}  // namespace

std::unique_ptr<VfPort> makeVfPorts(SysfsFiles& files, std::unique_ptr<VfPort> netlink) {
  return std::make_unique<ChosenPort>(files, std::move(netlink));
}

}  // namespace rdmove::fabric
