#include "coordinator/migration/model_promises.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rdmove {
namespace {

constexpr std::uint16_t kPartition = 0x7fff;  // without the membership bit (IBA 10.9.1)

std::vector<std::string> missing(const std::vector<std::string>& before,
                                 const std::vector<std::string>& after) {
  std::vector<std::string> gone;
  for (const std::string& gid : before) {
    if (std::find(after.begin(), after.end(), gid) == after.end()) gone.push_back(gid);
  }
  return gone;
}

void compareGids(Model model, const SubnetPort& before, const SubnetPort& after,
                 std::vector<PromiseFinding>& out) {
  const auto gone = missing(before.gids, after.gids);
  if (gone.empty()) return;
  if (model == Model::kSharedPort) {
    out.push_back({false, fmt::format("the GID {} did not come along: peers have to resolve the VM again",
                                      fmt::join(gone, ", "))});
  } else {
    out.push_back(
        {true, fmt::format("the GID {} is not there any more: the VF did not take the identity, or the "
                           "subnet manager gave another",
                           fmt::join(gone, ", "))});
  }
}

void compareLids(Model model, const SubnetPort& before, const SubnetPort& after,
                 std::vector<PromiseFinding>& out) {
  if (model != Model::kVirtualSwitch || before.lid == 0 || before.lid == after.lid) return;
  if (after.lid == 0) {
    out.push_back(
        {true, fmt::format("the port has no LID yet and had {}: is the subnet manager there?", before.lid)});
    return;
  }
  out.push_back(
      {true, fmt::format("the LID is {} and was {}: connections and paths by LID are lost; a subnet manager "
                         "that lost its cache renumbers",
                         after.lid, before.lid)});
}

void comparePkeys(const SubnetPort& before, const SubnetPort& after, std::vector<PromiseFinding>& out) {
  const auto same_partition = [](std::uint16_t a, std::uint16_t b) {
    return (a & kPartition) == (b & kPartition);
  };
  for (std::size_t index = 0; index < before.pkeys.size(); ++index) {
    const std::uint16_t key = before.pkeys[index];
    if ((key & kPartition) == 0) continue;  // an unused row
    if (index < after.pkeys.size() && after.pkeys[index] == key) continue;
    const auto found = std::find_if(after.pkeys.begin(), after.pkeys.end(),
                                    [&](std::uint16_t other) { return same_partition(other, key); });
    if (found == after.pkeys.end()) {
      out.push_back(
          {true, fmt::format("P_Key {:#06x} is not there any more: the VM has left that partition; look at "
                             "the subnet manager's partitions for this port",
                             key)});
    } else if (*found != key) {
      out.push_back(
          {true, fmt::format("P_Key {:#06x} came back as {:#06x}: its membership has changed", key, *found)});
    } else {
      out.push_back(
          {true, fmt::format("P_Key {:#06x} is at index {} and was at {}: queue pairs that name the index "
                             "use another partition",
                             key, found - after.pkeys.begin(), index)});
    }
  }
}

}  // namespace

std::vector<PromiseFinding> comparePorts(Model model, const SubnetPort& before, const SubnetPort& after) {
  std::vector<PromiseFinding> findings;
  compareGids(model, before, after, findings);
  compareLids(model, before, after, findings);
  comparePkeys(before, after, findings);
  return findings;
}

bool allowsNewGids(Model model) {
  return model == Model::kSharedPort;
}

}  // namespace rdmove
