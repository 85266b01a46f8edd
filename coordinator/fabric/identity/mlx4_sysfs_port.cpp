#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "coordinator/fabric/identity/vf_port.hpp"

namespace rdmove::fabric {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::size_t kLargestTable = 128;
constexpr unsigned kFunctionsPerSlot = 8;

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string iov(const VfPlace& vf) {
  return fmt::format("class/infiniband/{}/iov", vf.pf.rdma);
}

/// The driver's name for a function: not the PCI address that the VF has, but the PF's bus with the
/// function's number counted on from 0, eight to a slot (get_name() there).
std::string functionFolder(const VfPlace& vf) {
  const unsigned function = vf.index + 1;
  return fmt::format("{}/{:.8}{:02}.{}", iov(vf), vf.pf.pci, function / kFunctionsPerSlot,
                     function % kFunctionsPerSlot);
}

/// Where the files of a VF's port are.
struct PortFiles {
  unsigned row = 0;  ///< of the port's GID table
  std::string gid;
  std::string admin_guid;  ///< what the administrator wants of the alias
  std::string table;       ///< folder of the port's own P_Keys
  std::string slots;       ///< folder of the VF's table
};

class Mlx4SysfsPort : public VfPort {
 public:
  explicit Mlx4SysfsPort(SysfsFiles& files) : files_(files) {}

  Result<VfSettings> read(const VfPlace& vf) override {
    const auto at = filesOf(vf);
    if (!at) return tl::unexpected<Error>(at.error());
    const auto text = files_.read(at->admin_guid);
    if (!text) return tl::unexpected<Error>(text.error());
    const auto guid = Guid::read(*text);
    if (!guid) {
      return failure(ErrorCode::kUnavailable, "read " + at->admin_guid,
                     "the driver says '" + *text + "', which is no GUID");
    }
    VfSettings out;
    out.port_guid = *guid;
    out.partitions.emplace();
    for (unsigned slot = 0; slot < kLargestTable; ++slot) {
      const std::string path = fmt::format("{}/{}", at->slots, slot);
      if (!files_.exists(path)) break;
      const auto index = files_.read(path);
      if (!index) return tl::unexpected<Error>(index.error());
      out.partitions->push_back(*index == kNone ? std::nullopt : number(*index));
    }
    return out;
  }

  std::set<Field> settable(const VfPlace&) override { return {Field::kPortGuid, Field::kPartitions}; }

  Result<void> write(const VfPlace& vf, Field field, const VfSettings& values) override {
    const auto at = filesOf(vf);
    if (!at) return tl::unexpected<Error>(at.error());
    // Without colons: the driver reads up to the first one, so 00:02:… would be 0, which asks the SM for any.
    if (field == Field::kPortGuid) return files_.write(at->admin_guid, values.port_guid->digits());
    if (field != Field::kPartitions) {
      return failure(ErrorCode::kInternal, fmt::format("set {}", show(field, values)),
                     "mlx4 has no file for it");
    }
    const auto now = read(vf);
    if (!now) return tl::unexpected<Error>(now.error());
    for (std::size_t slot = 0; slot < values.partitions->size(); ++slot) {
      const auto& index = (*values.partitions)[slot];
      if (slot < now->partitions->size() && (*now->partitions)[slot] == index) continue;
      const std::string path = fmt::format("{}/{}", at->slots, slot);
      const auto written = files_.write(path, index ? std::to_string(*index) : std::string(kNone));
      if (!written) return written;
    }
    return {};
  }

  /// The driver takes all ones as "delete this alias"; 0 would have the SM make one up. Of the P_Keys a VF
  /// has the port's first to begin with.
  VfSettings nobody(const VfPlace&, const VfSettings& now) override {
    VfSettings out;
    out.port_guid = Guid(~std::uint64_t{0});
    out.partitions = PartitionSlots(now.partitions ? now.partitions->size() : 0);
    if (!out.partitions->empty()) out.partitions->front() = 0;
    return out;
  }
  bool isTold(const VfPlace&, Field field, const VfSettings& now) override { return has(now, field); }

  Result<std::vector<PartitionKey>> portPartitions(const VfPlace& vf) override {
    const auto at = filesOf(vf);
    if (!at) return tl::unexpected<Error>(at.error());
    std::vector<PartitionKey> keys;
    for (unsigned index = 0; index < kLargestTable; ++index) {
      const std::string path = fmt::format("{}/{}", at->table, index);
      if (!files_.exists(path)) break;
      const auto text = files_.read(path);
      if (!text) return tl::unexpected<Error>(text.error());
      std::uint16_t value = 0;
      const std::string_view digits = std::string_view(*text).substr(std::min<std::size_t>(2, text->size()));
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      keys.emplace_back(value);
    }
    return keys;
  }

  Result<LiveTables> tables(const VfPlace& vf) override {
    const auto at = filesOf(vf);
    if (!at) return tl::unexpected<Error>(at.error());
    const auto now = read(vf);
    if (!now) return tl::unexpected<Error>(now.error());
    const auto port = portPartitions(vf);
    if (!port) return tl::unexpected<Error>(port.error());
    LiveTables live{at->row, std::nullopt, {}};
    // The last 16 digits of "fe80:0000:0000:0000:0002:c903:000a:1b2c".
    if (const auto gid = files_.read(at->gid); gid && gid->size() > 20)
      live.granted = Guid::read(gid->substr(20));
    for (const auto& slot : *now->partitions)
      live.pkeys.push_back(slot && *slot < port->size() ? (*port)[*slot] : PartitionKey());
    while (!live.pkeys.empty() && live.pkeys.back() == PartitionKey()) live.pkeys.pop_back();
    return live;
  }

  std::string whereToLook(const VfPlace& vf) override { return "/sys/" + functionFolder(vf); }

 private:
  /// The first port of the VF's that is InfiniBand: an adapter may have one of each.
  Result<PortFiles> filesOf(const VfPlace& vf) const {
    const std::string attempted = fmt::format("find VF {} of {}", vf.index, vf.pf.rdma);
    const std::string ports = functionFolder(vf) + "/ports";
    for (const std::string& port : files_.list(ports)) {
      const auto layer =
          files_.read(fmt::format("class/infiniband/{}/ports/{}/link_layer", vf.pf.rdma, port));
      if (!layer || *layer != "InfiniBand") continue;
      const auto row = files_.read(fmt::format("{}/{}/gid_idx/0", ports, port));
      if (!row) return tl::unexpected<Error>(row.error());
      const auto index = number(*row);
      // Row 0 is the PF's own, and the driver ignores a write to it with success.
      if (!index || *index == 0) {
        return failure(ErrorCode::kUnavailable, attempted,
                       "the driver says that its row of the GID table is '" + *row + "'");
      }
      return PortFiles{*index, fmt::format("{}/ports/{}/gids/{}", iov(vf), port, *index),
                       fmt::format("{}/ports/{}/admin_guids/{}", iov(vf), port, *index),
                       fmt::format("{}/ports/{}/pkeys", iov(vf), port),
                       fmt::format("{}/{}/pkey_idx", ports, port)};
    }
    return failure(ErrorCode::kNotFound, attempted, "mlx4 shows no InfiniBand port of it under iov",
                   "See dmesg: mlx4_ib makes these files for the PF of a host with VFs.");
  }

  SysfsFiles& files_;
};

}  // namespace

std::unique_ptr<VfPort> makeMlx4SysfsPort(SysfsFiles& files) {
  return std::make_unique<Mlx4SysfsPort>(files);
}

}  // namespace rdmove::fabric
