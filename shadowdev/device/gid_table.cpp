#include "shadowdev/device/gid_table.hpp"

#include <algorithm>
#include <cstring>

namespace rdmove::shadow {
namespace {

constexpr std::uint8_t kNowhere = 0xFF;  // ibv_global_route has 8 bits, and no driver has that many in use

bool is_link_local(const ibv_gid& gid) {
  return gid.raw[0] == 0xFE && (gid.raw[1] & 0xC0) == 0x80;
}

}  // namespace

bool same(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

void GidTable::refresh(const std::vector<ibv_gid_entry>& now) {
  for (auto& [unused, row] : rows_) row.physical.reset();
  for (const ibv_gid_entry& one : now) {
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const auto& entry) {
      const Row& row = entry.second;
      return !row.physical && same(row.entry.gid, one.gid) && row.entry.gid_type == one.gid_type &&
             row.entry.port_num == one.port_num;
    });
    std::uint32_t index = one.gid_index;
    if (known != rows_.end())
      index = known->first;
    else
      while (rows_.contains(index)) ++index;
    Row& row = rows_[index];
    row.entry = one;
    row.entry.gid_index = index;
    row.physical = one.gid_index;
  }
}

const ibv_gid_entry* GidTable::at(std::uint32_t index) const {
  const auto found = rows_.find(index);
  return found == rows_.end() ? nullptr : &found->second.entry;
}

bool GidTable::has(const ibv_gid& gid) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const auto& entry) { return same(entry.second.entry.gid, gid); });
}

std::vector<ibv_gid_entry> GidTable::rows() const {
  std::vector<ibv_gid_entry> all;
  for (const auto& [unused, row] : rows_) all.push_back(row.entry);
  return all;
}

std::uint8_t GidTable::physical(std::uint32_t index) const {
  const auto found = rows_.find(index);
  if (found == rows_.end() || !found->second.physical) return kNowhere;
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(*found->second.physical, kNowhere));
}

std::uint8_t GidTable::shown(std::uint32_t physical) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& entry) { return entry.second.physical == physical; });
  return found == rows_.end() ? kNowhere : static_cast<std::uint8_t>(found->first);
}

std::uint32_t GidTable::to_itself() const {
  std::uint32_t best = 0;
  bool routed = false;
  for (const auto& [index, row] : rows_) {
    if (!row.physical || routed) continue;
    best = index;
    routed = !is_link_local(row.entry.gid);
  }
  return best;
}

}  // namespace rdmove::shadow
