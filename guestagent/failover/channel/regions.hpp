// The named regions of both sides. A fixed number of places each, so that neither an application nor a peer
// can make the tables grow: what is told is always "this place holds that now".
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "guestagent/failover/channel/frame.hpp"
#include "guestagent/failover/channel/link.hpp"
#include "rdmove/channel.hpp"

namespace rdmove::failover::channel {

struct LocalRegion {
  RegionName name;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  RegionAccess access = RegionAccess::Local;
};

class LocalRegions {
 public:
  Result<RegionPlace> add(std::string_view name, std::uint64_t address, std::uint64_t length,
                          RegionAccess access);
  Result<void> remove(RegionPlace place);
  [[nodiscard]] std::optional<RegionPlace> find(std::string_view name) const;
  [[nodiscard]] const LocalRegion& operator[](RegionPlace place) const {
    return *places_[index(place)].region;
  }

  /// A link came up: all that is shown must be told anew. Returns how many those are.
  std::uint16_t start();
  /// The next place that the peer does not know as it is.
  [[nodiscard]] std::optional<RegionPlace> next_untold() const;
  [[nodiscard]] bool is_all_told() const { return untold_ == 0; }
  /// The frame for it (without key), which counts as told.
  RegionFrame tell(RegionPlace place);

 private:
  struct Place {
    std::optional<LocalRegion> region;
    bool untold = false;
    bool initial = false;
  };
  static std::size_t index(RegionPlace place) { return static_cast<std::size_t>(place); }
  std::array<Place, kRegions> places_;
  int untold_ = 0;
};

class PeerRegions {
 public:
  /// A link came up: what the peer showed on the last one means nothing, `initial` places follow.
  void start(std::uint16_t initial);
  /// False: one more `initial` than was announced.
  [[nodiscard]] bool take(const RegionFrame& frame);
  [[nodiscard]] bool is_complete() const { return awaited_ == 0; }
  [[nodiscard]] const RegionFrame* find(std::string_view name) const;

 private:
  std::array<std::optional<RegionFrame>, kRegions> places_;
  std::uint16_t awaited_ = 0;
};

/// Where in the peer's memory that is; NoSuchRegion, OutOfBounds.
Result<OneSidedWork> resolve(const PeerRegions& regions, std::string_view name, std::size_t offset,
                             std::uint32_t length, bool is_write);

}  // namespace rdmove::failover::channel
