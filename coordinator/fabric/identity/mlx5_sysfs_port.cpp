#include <fmt/format.h>

#include "coordinator/fabric/identity/vf_port.hpp"

namespace rdmove::fabric {
namespace {

/// The driver's words for a port's state policy, exact to the letter.
constexpr std::pair<LinkPolicy, const char*> kPolicies[] = {
    {LinkPolicy::kAuto, "Follow"}, {LinkPolicy::kEnable, "Up"}, {LinkPolicy::kDisable, "Down"}};

std::string folder(const VfPlace& vf) {
  return fmt::format("bus/pci/devices/{}/sriov/{}", vf.pf.pci, vf.index);
}

class Mlx5SysfsPort : public VfPort {
 public:
  explicit Mlx5SysfsPort(SysfsFiles& files) : files_(files) {}

  Result<VfSettings> read(const VfPlace& vf) override {
    VfSettings out;
    const auto node = readGuid(folder(vf) + "/node");
    if (!node) return tl::unexpected<Error>(node.error());
    const auto port = readGuid(folder(vf) + "/port");
    if (!port) return tl::unexpected<Error>(port.error());
    out.node_guid = *node;
    out.port_guid = *port;
    const auto policy = files_.read(folder(vf) + "/policy");
    if (!policy) return tl::unexpected<Error>(policy.error());
    for (const auto& [value, word] : kPolicies) {
      if (*policy == word) out.link = value;
    }
    return out;
  }

  std::set<Field> settable(const VfPlace&) override {
    return {Field::kNodeGuid, Field::kPortGuid, Field::kLink};
  }

  Result<void> write(const VfPlace& vf, Field field, const VfSettings& values) override {
    if (field == Field::kNodeGuid) return files_.write(folder(vf) + "/node", values.node_guid->str());
    if (field == Field::kPortGuid) return files_.write(folder(vf) + "/port", values.port_guid->str());
    for (const auto& [value, word] : kPolicies) {
      if (field == Field::kLink && *values.link == value) return files_.write(folder(vf) + "/policy", word);
    }
    return failure(ErrorCode::kInternal, fmt::format("set {}", show(field, values)),
                   "the driver's sriov folder has no file for it");
  }

  VfSettings nobody(const VfPlace&, const VfSettings&) override {
    VfSettings out;
    out.node_guid = out.port_guid = Guid();
    return out;
  }
  std::string whereToLook(const VfPlace& vf) override { return "/sys/" + folder(vf); }

 private:
  Result<Guid> readGuid(const std::string& path) const {
    const auto text = files_.read(path);
    if (!text) return tl::unexpected<Error>(text.error());
    if (const auto guid = Guid::read(*text)) return *guid;
    return failure(ErrorCode::kUnavailable, "read " + path,
                   "the driver says '" + *text + "', which is no GUID");
  }

  SysfsFiles& files_;
};

}  // namespace

std::unique_ptr<VfPort> makeMlx5SysfsPort(SysfsFiles& files) {
  return std::make_unique<Mlx5SysfsPort>(files);
}

}  // namespace rdmove::fabric
