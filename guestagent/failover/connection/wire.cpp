#include "guestagent/failover/connection/wire.hpp"

#include <algorithm>

namespace rdmove::failover::conn {
namespace {

constexpr std::array<std::byte, 4> magic{std::byte{'R'}, std::byte{'D'}, std::byte{'M'}, std::byte{'V'}};
constexpr std::uint8_t moved_flag = 1;

template <class T>
void put(std::span<std::byte> out, std::size_t offset, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out[offset + i] = static_cast<std::byte>(value >> (8 * (sizeof(T) - 1 - i)));
}

template <class T>
T get(std::span<const std::byte> in, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = value << 8 | std::to_integer<std::uint64_t>(in[offset + i]);
  return static_cast<T>(value);
}

// Magic and version sit at the same place in both forms, in every version to come.
tl::expected<void, Unreadable> check_start(std::span<const std::byte> data, std::size_t size) {
  if (data.size() < 5 || !std::equal(magic.begin(), magic.end(), data.begin()))
    return tl::unexpected(Unreadable::Foreign);
  if (get<std::uint8_t>(data, 4) != protocol_version) return tl::unexpected(Unreadable::OtherVersion);
  if (data.size() < size) return tl::unexpected(Unreadable::Foreign);
  return {};
}

void put_start(std::span<std::byte> out) {
  std::copy(magic.begin(), magic.end(), out.begin());
  put(out, 4, protocol_version);
}

}  // namespace

tl::expected<Hello, Unreadable> decode_hello(std::span<const std::byte> data) {
  if (auto start = check_start(data, hello_bytes); !start) return tl::unexpected(start.error());
  const auto kind = get<std::uint8_t>(data, 5);
  const std::size_t length = get<std::uint8_t>(data, 6);
  if ((kind != 1 && kind != 2) || length > application_bytes || data.size() < hello_bytes + length)
    return tl::unexpected(Unreadable::Foreign);
  Hello hello;
  hello.kind = static_cast<CallKind>(kind);
  hello.moved = (get<std::uint8_t>(data, 7) & moved_flag) != 0;
  hello.connection = get<std::uint64_t>(data, 8);
  hello.token = get<std::uint64_t>(data, 16);
  hello.incarnation = get<std::uint64_t>(data, 24);
  hello.epoch = get<std::uint32_t>(data, 32);
  hello.recall_port = get<std::uint16_t>(data, 36);
  hello.backlog = get<std::uint16_t>(data, 38);
  const auto application = data.subspan(hello_bytes, length);
  hello.application.assign(application.begin(), application.end());
  return hello;
}

tl::expected<Refusal, Unreadable> decode_refusal(std::span<const std::byte> data) {
  if (auto start = check_start(data, refusal_bytes); !start) return tl::unexpected(start.error());
  const auto why = get<std::uint8_t>(data, 5);
  if (why < 1 || why > 8) return tl::unexpected(Unreadable::Foreign);
  return Refusal{static_cast<RefusalCode>(why), get<std::uint64_t>(data, 8)};
}

std::vector<std::byte> encode(const Hello& hello) {
  const std::size_t length = std::min(hello.application.size(), application_bytes);
  std::vector<std::byte> out(hello_bytes + length);
  put_start(out);
  put(out, 5, static_cast<std::uint8_t>(hello.kind));
  put(out, 6, static_cast<std::uint8_t>(length));
  put(out, 7, static_cast<std::uint8_t>(hello.moved ? moved_flag : 0));
  put(out, 8, hello.connection);
  put(out, 16, hello.token);
  put(out, 24, hello.incarnation);
  put(out, 32, hello.epoch);
  put(out, 36, hello.recall_port);
  put(out, 38, hello.backlog);
  std::copy_n(hello.application.begin(), length, out.begin() + hello_bytes);
  return out;
}

std::array<std::byte, refusal_bytes> encode(const Refusal& refusal) {
  std::array<std::byte, refusal_bytes> out{};
  put_start(out);
  put(out, 5, static_cast<std::uint8_t>(refusal.why));
  put(out, 8, refusal.incarnation);
  return out;
}

}  // namespace rdmove::failover::conn
