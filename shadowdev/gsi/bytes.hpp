// Big-endian numbers in byte arrays, as InfiniBand sends them (IBTA volume 1, 1.5: most significant byte
// first). The offset is a template argument, so that no read or write outside the array compiles.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rdmove::gsi {

template <std::unsigned_integral T>
T load(const std::byte* at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>((std::uint64_t{value} << 8U) | std::to_integer<std::uint8_t>(at[i]));
  return value;
}

template <std::unsigned_integral T>
void store(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    at[i] = static_cast<std::byte>(std::uint64_t{value} >> (8U * (sizeof(T) - 1U - i)));
}

template <std::size_t Offset, std::unsigned_integral T, std::size_t Extent>
T get(std::span<const std::byte, Extent> bytes) {
  static_assert(Extent != std::dynamic_extent && Offset + sizeof(T) <= Extent);
  return load<T>(bytes.data() + Offset);
}

template <std::size_t Offset, std::unsigned_integral T, std::size_t Extent>
void put(std::span<std::byte, Extent> bytes, T value) {
  static_assert(Extent != std::dynamic_extent && Offset + sizeof(T) <= Extent);
  store<T>(bytes.data() + Offset, value);
}

/// A field of more than 8 bytes: a GID, or a record in a MAD.
template <std::size_t Offset, std::size_t Length, std::size_t Extent>
std::array<std::byte, Length> get_bytes(std::span<const std::byte, Extent> bytes) {
  static_assert(Extent != std::dynamic_extent && Offset + Length <= Extent);
  std::array<std::byte, Length> field;
  std::memcpy(field.data(), bytes.data() + Offset, Length);
  return field;
}

template <std::size_t Offset, std::size_t Length, std::size_t Extent>
void put_bytes(std::span<std::byte, Extent> bytes, const std::array<std::byte, Length>& field) {
  static_assert(Extent != std::dynamic_extent && Offset + Length <= Extent);
  std::memcpy(bytes.data() + Offset, field.data(), Length);
}

}  // namespace rdmove::gsi
