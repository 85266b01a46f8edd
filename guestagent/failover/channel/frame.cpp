#include "guestagent/failover/channel/frame.hpp"

#include <algorithm>

namespace rdmove::failover::channel {
namespace {

template <class T>
void put(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    at[i] = static_cast<std::byte>(value >> (8 * (sizeof(T) - 1 - i)));
}

template <class T>
T get(const std::byte* at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8U | std::to_integer<std::uint64_t>(at[i]);
  return static_cast<T>(value);
}

constexpr std::uint8_t kShown = 1;
constexpr std::uint8_t kInitial = 2;
constexpr std::uint8_t kReadable = 4;
constexpr std::uint8_t kWritable = 8;

}  // namespace

std::optional<RegionName> RegionName::from(std::string_view text) {
  RegionName name;
  if (text.empty() || text.size() > name.bytes_.size()) return std::nullopt;
  std::copy(text.begin(), text.end(), name.bytes_.begin());
  name.length_ = static_cast<std::uint8_t>(text.size());
  return name;
}

void write_hello(std::span<std::byte, kHelloBytes> at, const Hello& hello) {
  put<std::uint32_t>(&at[0], hello.message_limit);
  put<std::uint16_t>(&at[4], hello.receive_slots);
  put<std::uint16_t>(&at[6], hello.send_slots);
  put<std::uint16_t>(&at[8], hello.regions);
  put<std::uint16_t>(&at[10], 0);
}

std::optional<Hello> read_hello(std::span<const std::byte> payload) {
  if (payload.size() < kHelloBytes) return std::nullopt;  // a later version may append
  Hello hello;
  hello.message_limit = get<std::uint32_t>(&payload[0]);
  hello.receive_slots = get<std::uint16_t>(&payload[4]);
  hello.send_slots = get<std::uint16_t>(&payload[6]);
  hello.regions = get<std::uint16_t>(&payload[8]);
  if (hello.message_limit == 0 || hello.message_limit > kLargestMessage) return std::nullopt;
  if (hello.receive_slots < kFewestReceiveSlots || hello.send_slots == 0) return std::nullopt;
  if (hello.regions > kRegions) return std::nullopt;
  return hello;
}

std::array<std::byte, kGreetingBytes> write_greeting(const Greeting& greeting) {
  std::array<std::byte, kGreetingBytes> at{};
  at[0] = std::byte{kVersion};
  put<std::uint16_t>(&at[2], greeting.regions);
  put(&at[4], static_cast<std::uint32_t>(greeting.credit));
  put<std::uint64_t>(&at[8], greeting.delivered);
  return at;
}

std::optional<Greeting> read_greeting(std::span<const std::byte> words) {
  if (words.size() != kGreetingBytes || words[0] != std::byte{kVersion}) return std::nullopt;
  return Greeting{get<std::uint16_t>(&words[2]), get<std::uint32_t>(&words[4]), get<std::uint64_t>(&words[8])};
}

void write_region(std::span<std::byte, kRegionBytes> at, const RegionFrame& region) {
  std::fill(at.begin(), at.end(), std::byte{0});
  at[0] = static_cast<std::byte>(region.place);
  at[1] = static_cast<std::byte>((region.shown ? kShown : 0) | (region.initial ? kInitial : 0) |
                                 (region.readable ? kReadable : 0) | (region.writable ? kWritable : 0));
  const std::string_view name = region.name.text();
  at[2] = static_cast<std::byte>(name.size());
  put<std::uint32_t>(&at[4], region.key);
  put<std::uint64_t>(&at[8], region.address);
  put<std::uint64_t>(&at[16], region.length);
  std::memcpy(&at[24], name.data(), name.size());
}

std::optional<RegionFrame> read_region(std::span<const std::byte> payload) {
  if (payload.size() != kRegionBytes) return std::nullopt;
  RegionFrame region;
  region.place = std::to_integer<std::uint8_t>(payload[0]);
  const auto flags = std::to_integer<std::uint8_t>(payload[1]);
  if (region.place >= kRegions || flags >= 2 * kWritable) return std::nullopt;
  region.shown = (flags & kShown) != 0;
  region.initial = (flags & kInitial) != 0;
  if (!region.shown) return region;
  region.readable = (flags & kReadable) != 0;
  region.writable = (flags & kWritable) != 0;
  region.key = get<std::uint32_t>(&payload[4]);
  region.address = get<std::uint64_t>(&payload[8]);
  region.length = get<std::uint64_t>(&payload[16]);
  if (region.address + region.length < region.address) return std::nullopt;
  const auto length = std::to_integer<std::size_t>(payload[2]);
  if (length > 32) return std::nullopt;
  const auto name = RegionName::from({reinterpret_cast<const char*>(&payload[24]), length});
  if (!name) return std::nullopt;
  region.name = *name;
  return region;
}

}  // namespace rdmove::failover::channel
