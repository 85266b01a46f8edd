#include "shadowdev/gsi/function_state.hpp"

#include <fmt/format.h>

#include <boost/crc.hpp>
#include <limits>

#include "shadowdev/gsi/bytes.hpp"

namespace rdmove::gsi {
namespace {

constexpr std::uint32_t kMagic = 0x52474653;  // "RGFS"
constexpr std::size_t kHeader = 24;
constexpr std::size_t kChecksum = 4;
constexpr std::size_t kMembership = McMemberRecord::kBytes;
constexpr std::size_t kSubscription = InformInfo::kBytes;
constexpr std::size_t kConnection = 20;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint8_t kHasPeer = 1;
constexpr std::uint8_t kIsSidr = 2;

std::uint32_t checksum(std::span<const std::byte> bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

tl::unexpected<Problem> damaged(std::string what) {
  return problem(ProblemCode::Damaged,
                 fmt::format("The state of a function cannot be read: {}. Take it out of the "
                             "source port again.",
                             what));
}

void write_connection(std::byte* at, const CmConnection& one) {
  store(at, static_cast<std::uint32_t>(one.of_function));
  store(at + 4, static_cast<std::uint32_t>(one.on_wire));
  store(at + 8, static_cast<std::uint32_t>(one.of_peer.value_or(CommId{0})));
  store(at + 12, static_cast<std::uint16_t>(one.peer));
  store(at + 14, static_cast<std::uint8_t>(one.phase));
  store(at + 15, static_cast<std::uint8_t>((one.of_peer ? kHasPeer : 0) | (one.is_sidr ? kIsSidr : 0)));
  const auto left =
      one.expires_in ? std::clamp<std::int64_t>(one.expires_in->count(), 0, kNever - 1) : kNever;
  store(at + 16, static_cast<std::uint32_t>(left));
}

std::optional<CmConnection> read_connection(const std::byte* at) {
  CmConnection one;
  one.of_function = CommId{load<std::uint32_t>(at)};
  one.on_wire = CommId{load<std::uint32_t>(at + 4)};
  one.peer = Lid{load<std::uint16_t>(at + 12)};
  const auto phase = load<std::uint8_t>(at + 14);
  const auto flags = load<std::uint8_t>(at + 15);
  if (phase < static_cast<std::uint8_t>(CmPhase::Asked) ||
      phase > static_cast<std::uint8_t>(CmPhase::Closing))
    return std::nullopt;
  if (flags >= 2 * kIsSidr || one.on_wire == CommId{0}) return std::nullopt;
  one.phase = CmPhase{phase};
  if ((flags & kHasPeer) != 0) one.of_peer = CommId{load<std::uint32_t>(at + 8)};
  one.is_sidr = (flags & kIsSidr) != 0;
  if (const auto left = load<std::uint32_t>(at + 16); left != kNever) one.expires_in = milliseconds{left};
  return one;
}

}  // namespace

Result<std::vector<std::byte>> serialise(const FunctionState& state) {
  if (state.memberships.size() > FunctionState::kMostRecords ||
      state.subscriptions.size() > FunctionState::kMostRecords ||
      state.connections.size() > FunctionState::kMostConnections) {
    return problem(
        ProblemCode::TooLarge,
        fmt::format("The function has {} memberships, {} subscriptions and {} connections, more than a "
                    "state can hold. Lower the port's limits per function.",
                    state.memberships.size(), state.subscriptions.size(), state.connections.size()));
  }
  std::vector<std::byte> bytes(kHeader + state.memberships.size() * kMembership +
                               state.subscriptions.size() * kSubscription +
                               state.connections.size() * kConnection + kChecksum);
  store(&bytes[0], kMagic);
  store(&bytes[4], FunctionState::kVersion);
  store(&bytes[8], static_cast<std::uint32_t>(bytes.size()));
  store(&bytes[12], static_cast<std::uint32_t>(state.memberships.size()));
  store(&bytes[16], static_cast<std::uint32_t>(state.subscriptions.size()));
  store(&bytes[20], static_cast<std::uint32_t>(state.connections.size()));
  std::byte* at = &bytes[kHeader];
  for (const HeldRecord& held : state.memberships) {
    std::copy(held.record.begin(), held.record.end(), at);
    at += kMembership;
  }
  for (const HeldRecord& held : state.subscriptions) {
    std::copy_n(held.record.begin(), kSubscription, at);
    at += kSubscription;
  }
  for (const CmConnection& one : state.connections) {
    write_connection(at, one);
    at += kConnection;
  }
  store(at, checksum(std::span(bytes).first(bytes.size() - kChecksum)));
  return bytes;
}

Result<FunctionState> parse(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 || load<std::uint32_t>(&bytes[0]) != kMagic)
    return damaged("it does not begin as one does");
  if (const auto version = load<std::uint16_t>(&bytes[4]); version != FunctionState::kVersion) {
    return problem(
        ProblemCode::OtherVersion,
        fmt::format("The state of a function has format {}, and this release reads format {}. Bring both "
                    "hosts to one release.",
                    version, FunctionState::kVersion));
  }
  if (bytes.size() < kHeader + kChecksum) return damaged("it is cut");
  const std::uint64_t memberships = load<std::uint32_t>(&bytes[12]);
  const std::uint64_t subscriptions = load<std::uint32_t>(&bytes[16]);
  const std::uint64_t connections = load<std::uint32_t>(&bytes[20]);
  if (memberships > FunctionState::kMostRecords || subscriptions > FunctionState::kMostRecords ||
      connections > FunctionState::kMostConnections) {
    return problem(
        ProblemCode::TooLarge,
        fmt::format("The state of a function claims {} memberships, {} subscriptions and {} connections, "
                    "which no port holds. Take it out of the source port again.",
                    memberships, subscriptions, connections));
  }
  const std::uint64_t length = kHeader + memberships * kMembership + subscriptions * kSubscription +
                               connections * kConnection + kChecksum;
  if (load<std::uint32_t>(&bytes[8]) != length || bytes.size() != length)
    return damaged(fmt::format("it has {} bytes, and by what it says of itself {}", bytes.size(), length));
  if (load<std::uint32_t>(&bytes[length - kChecksum]) != checksum(bytes.first(length - kChecksum)))
    return damaged("its checksum does not fit");

  FunctionState state;
  const std::byte* at = &bytes[kHeader];
  for (std::uint64_t i = 0; i < memberships; ++i, at += kMembership) {
    HeldRecord held;
    std::copy_n(at, kMembership, held.record.begin());
    const auto record = McMemberRecord::read(held.record);
    held.state = record.join_state;
    if (!record.group.is_multicast() || held.state.empty())
      return damaged("a membership is in no group, or in none of the ways to be in one");
    state.memberships.push_back(held);
  }
  for (std::uint64_t i = 0; i < subscriptions; ++i, at += kSubscription) {
    HeldRecord held;
    std::copy_n(at, kSubscription, held.record.begin());
    held.state = kFullMember;
    state.subscriptions.push_back(held);
  }
  for (std::uint64_t i = 0; i < connections; ++i, at += kConnection) {
    const auto one = read_connection(at);
    if (!one) return damaged("a connection has values that none has");
    state.connections.push_back(*one);
  }
  return state;
}

}  // namespace rdmove::gsi
