// What a PF's driver keeps of one VF, field by field: what is read, what is to be set, and how the two
// compare. Internal to the fabric. Plain values, any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/base/types.hpp"
#include "coordinator/base/vf_values.hpp"
#include "coordinator/migration/plan.hpp"

namespace rdmove::fabric {

struct VlanTag {
  int id = 0;  ///< 0: none
  int priority = 0;
  VlanProtocol protocol = VlanProtocol::k8021Q;
  bool operator==(const VlanTag&) const = default;
};

struct Rates {
  unsigned min_mbit = 0;  ///< 0: none
  unsigned max_mbit = 0;  ///< 0: none
  bool operator==(const Rates&) const = default;
};

/// A VF's P_Key table as mlx4 keeps it: for each index the one in the port's table, or none.
using PartitionSlots = std::vector<std::optional<unsigned>>;

/// An absent field: the driver does not tell it, or it is not to be set.
struct VfSettings {
  std::optional<MacAddress> mac{};  ///< zero: none
  std::optional<VlanTag> vlan{};
  std::optional<bool> trust{};
  std::optional<bool> spoof_check{};
  std::optional<Rates> rates{};
  std::optional<Guid> node_guid{};  ///< zero: none, or (mlx5, rtnetlink) not set since the driver was loaded
  std::optional<Guid> port_guid{};
  std::optional<PartitionSlots> partitions{};
  std::optional<LinkPolicy> link{};
  /// The host's driver that had the VF, where one had. Only remembered: binding is libvirt's.
  std::optional<std::string> driver{};
  bool operator==(const VfSettings&) const = default;
};

/// In the order in which they are set: a VF is on its network as nobody else before its link may be up.
enum class Field { kMac, kVlan, kTrust, kSpoofCheck, kRates, kNodeGuid, kPortGuid, kPartitions, kLink };
inline constexpr std::array kFields = {Field::kMac,        Field::kVlan,       Field::kTrust,
                                       Field::kSpoofCheck, Field::kRates,      Field::kNodeGuid,
                                       Field::kPortGuid,   Field::kPartitions, Field::kLink};

const char* nameOf(Field field);  ///< "MAC", "port GUID"
bool has(const VfSettings& settings, Field field);
bool same(Field field, const VfSettings& a, const VfSettings& b);
/// `from`'s value of the field, absent or not, put into `into`.
void copy(Field field, const VfSettings& from, VfSettings& into);
std::string show(Field field, const VfSettings& settings);  ///< "MAC 52:54:00:77:00:01", "no VLAN"

/// All that are there, by the names of the metadata's attributes, for people.
std::vector<std::pair<std::string, std::string>> wordsOf(const VfSettings& settings);

/// The declared ones; P_Keys are left out, since only the port's table says where they are.
VfSettings settingsOf(const Identity& identity);

/// As the journal keeps it. kBadInput on reading what is not such a text.
std::string toJson(const VfSettings& settings);
Result<VfSettings> settingsFromJson(const std::string& text);

}  // namespace rdmove::fabric
