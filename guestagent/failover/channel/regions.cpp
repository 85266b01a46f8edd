#include "guestagent/failover/channel/regions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmove::failover::channel {
namespace {

bool is_shown(RegionAccess access) {
  return access != RegionAccess::Local;
}

}  // namespace

Result<RegionPlace> LocalRegions::add(std::string_view name, std::uint64_t address, std::uint64_t length,
                                      RegionAccess access) {
  const auto valid = RegionName::from(name);
  if (!valid) return fail(ErrorCode::InvalidArgument, "a region's name has 1 to 32 bytes");
  if (length == 0 || address + length < address) {
    return fail(ErrorCode::InvalidArgument, fmt::format("region {}: it has no memory", name));
  }
  if (find(name)) return fail(ErrorCode::Exists, fmt::format("region {} is registered already", name));
  const auto free =
      std::find_if(places_.begin(), places_.end(), [](const Place& place) { return !place.region; });
  if (free == places_.end()) {
    return fail(ErrorCode::TooLarge, fmt::format("a channel has at most {} regions: withdraw one", kRegions));
  }
  free->region = LocalRegion{*valid, address, length, access};
  if (is_shown(access) && !free->untold) free->untold = true, ++untold_;
  return static_cast<RegionPlace>(free - places_.begin());
}

Result<void> LocalRegions::remove(RegionPlace at) {
  Place& place = places_[index(at)];
  if (is_shown(place.region->access) && !place.untold) place.untold = true, ++untold_;
  place.region.reset();
  return {};
}

std::optional<RegionPlace> LocalRegions::find(std::string_view name) const {
  const auto at = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
    return place.region && place.region->name.text() == name;
  });
  if (at == places_.end()) return std::nullopt;
  return static_cast<RegionPlace>(at - places_.begin());
}

std::uint16_t LocalRegions::start() {
  untold_ = 0;
  for (Place& place : places_) {
    place.untold = place.initial = place.region && is_shown(place.region->access);
    if (place.untold) ++untold_;
  }
  return static_cast<std::uint16_t>(untold_);
}

std::optional<RegionPlace> LocalRegions::next_untold() const {
  if (untold_ == 0) return std::nullopt;
  const auto at =
      std::find_if(places_.begin(), places_.end(), [](const Place& place) { return place.untold; });
  return static_cast<RegionPlace>(at - places_.begin());
}

RegionFrame LocalRegions::tell(RegionPlace at) {
  Place& place = places_[index(at)];
  RegionFrame frame;
  frame.place = static_cast<std::uint8_t>(at);
  frame.initial = place.initial;
  place.untold = place.initial = false;
  --untold_;
  if (!place.region || !is_shown(place.region->access)) return frame;
  frame.shown = true;
  frame.readable = place.region->access != RegionAccess::RemoteWrite;
  frame.writable = place.region->access != RegionAccess::RemoteRead;
  frame.address = place.region->address;
  frame.length = place.region->length;
  frame.name = place.region->name;
  return frame;
}

void PeerRegions::start(std::uint16_t initial) {
  places_ = {};
  awaited_ = initial;
}

bool PeerRegions::take(const RegionFrame& frame) {
  if (frame.initial) {
    if (awaited_ == 0) return false;
    --awaited_;
  }
  // A name that moves to another place may be told there before its old place is told to be empty.
  for (auto& place : places_) {
    if (place && frame.shown && place->name == frame.name) place.reset();
  }
  places_[frame.place].reset();
  if (frame.shown) places_[frame.place] = frame;
  return true;
}

const RegionFrame* PeerRegions::find(std::string_view name) const {
  for (const auto& place : places_) {
    if (place && place->name.text() == name) return &*place;
  }
  return nullptr;
}

Result<OneSidedWork> resolve(const PeerRegions& regions, std::string_view name, std::size_t offset,
                             std::uint32_t length, bool is_write) {
  const RegionFrame* region = regions.find(name);
  if (region == nullptr) {
    return fail(ErrorCode::NoSuchRegion, fmt::format("the peer shows no region {}", name));
  }
  if (!(is_write ? region->writable : region->readable)) {
    return fail(ErrorCode::OutOfBounds,
                fmt::format("the peer does not let us {} region {}", is_write ? "write" : "read", name));
  }
  if (offset > region->length || length > region->length - offset) {
    return fail(ErrorCode::OutOfBounds, fmt::format("bytes {} to {} of the peer's region {}, which has {}",
                                                    offset, offset + length, name, region->length));
  }
  OneSidedWork work;
  work.length = length;
  work.remote_address = region->address + offset;
  work.remote_key = region->key;
  return work;
}

}  // namespace rdmove::failover::channel
