// A port's GIDs as programs number them. The kernel fills its table in the order in which addresses come, so
// a device that has come back may have the same GIDs at other indices. Under the control lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rdmove::shadow {

bool same(const ibv_gid& a, const ibv_gid& b);

class GidTable {
 public:
  /// What the device has now. A GID that is known keeps its number; a new one gets the device's, or the first
  /// after it that is free.
  void refresh(const std::vector<ibv_gid_entry>& now);
  /// By the number that programs know; null if there is none.
  [[nodiscard]] const ibv_gid_entry* at(std::uint32_t index) const;
  [[nodiscard]] bool has(const ibv_gid& gid) const;
  [[nodiscard]] std::vector<ibv_gid_entry> rows() const;
  /// The device's number; one that no device has if the GID is not there.
  [[nodiscard]] std::uint8_t physical(std::uint32_t index) const;
  /// The program's number of one of the device's.
  [[nodiscard]] std::uint8_t shown(std::uint32_t physical) const;
  /// An index at which the device reaches itself: an address that is routed before a link-local one.
  [[nodiscard]] std::uint32_t to_itself() const;

 private:
  struct Row {
    ibv_gid_entry entry{};
    std::optional<std::uint32_t> physical;
  };
  std::map<std::uint32_t, Row> rows_;
};

}  // namespace rdmove::shadow
