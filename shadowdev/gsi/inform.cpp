#include "shadowdev/gsi/inform.hpp"

namespace rdmove::gsi {
namespace {

constexpr std::uint32_t k24Bits = 0xFFFFFF;

}  // namespace

InformInfo InformInfo::read(std::span<const std::byte, kBytes> bytes) {
  InformInfo info;
  info.gid = Gid(get_bytes<0, 16>(bytes));
  info.lid_begin = get<16, std::uint16_t>(bytes);
  info.lid_end = get<18, std::uint16_t>(bytes);
  info.is_generic = get<22, std::uint8_t>(bytes) != 0;
  info.is_subscribe = get<23, std::uint8_t>(bytes) != 0;
  info.type = get<24, std::uint16_t>(bytes);
  info.trap_or_device = get<26, std::uint16_t>(bytes);
  const auto queue = get<28, std::uint32_t>(bytes);
  info.queue_pair = QueuePairNumber{queue >> 8U};
  info.response_time = queue & 0x1FU;
  info.producer = get<32, std::uint32_t>(bytes) & k24Bits;
  return info;
}

void InformInfo::write(std::span<std::byte, kBytes> bytes) const {
  put_bytes<0>(bytes, gid.bytes());
  put<16>(bytes, lid_begin);
  put<18>(bytes, lid_end);
  put<20>(bytes, std::uint16_t{0});
  put<22>(bytes, static_cast<std::uint8_t>(is_generic ? 1 : 0));
  put<23>(bytes, static_cast<std::uint8_t>(is_subscribe ? 1 : 0));
  put<24>(bytes, type);
  put<26>(bytes, trap_or_device);
  put<28>(bytes, static_cast<std::uint32_t>(queue_pair) << 8U | (response_time & 0x1FU));
  put<32>(bytes, producer & k24Bits);
}

Notice Notice::read(std::span<const std::byte, kBytes> bytes) {
  Notice notice;
  const auto first = get<0, std::uint32_t>(bytes);
  notice.is_generic = (first >> 31U) != 0;
  notice.type = first >> 24U & 0x7FU;
  notice.producer = first & k24Bits;
  notice.trap_or_device = get<4, std::uint16_t>(bytes);
  notice.issuer = Lid{get<6, std::uint16_t>(bytes)};
  notice.toggle_and_count = get<8, std::uint16_t>(bytes);
  notice.details = get_bytes<10, 54>(bytes);
  notice.issuer_gid = Gid(get_bytes<64, 16>(bytes));
  return notice;
}

void Notice::write(std::span<std::byte, kBytes> bytes) const {
  put<0>(bytes, (is_generic ? 1U << 31U : 0U) | (type & 0x7FU) << 24U | (producer & k24Bits));
  put<4>(bytes, trap_or_device);
  put<6>(bytes, static_cast<std::uint16_t>(issuer));
  put<8>(bytes, toggle_and_count);
  put_bytes<10>(bytes, details);
  put_bytes<64>(bytes, issuer_gid.bytes());
}

Gid Notice::about() const {
  if (!is_generic || trap_or_device < 64 || trap_or_device > 67) return issuer_gid;
  return Gid(get_bytes<6, 16>(std::span<const std::byte, 54>(details)));
}

bool matches(const InformInfo& subscription, const Notice& notice) {
  if (subscription.is_generic != notice.is_generic) return false;
  if (subscription.type != InformInfo::kAll && subscription.type != notice.type) return false;
  if (subscription.trap_or_device != InformInfo::kAll &&
      subscription.trap_or_device != notice.trap_or_device) {
    return false;
  }
  if (subscription.producer != InformInfo::kAllProducers && subscription.producer != notice.producer) {
    return false;
  }
  if (!subscription.gid.is_zero()) {
    return subscription.gid == notice.about() || subscription.gid == notice.issuer_gid;
  }
  if (subscription.lid_begin == InformInfo::kAll) return true;
  const auto issuer = static_cast<std::uint16_t>(notice.issuer);
  const std::uint16_t end = subscription.lid_end == 0 ? subscription.lid_begin : subscription.lid_end;
  return subscription.lid_begin <= issuer && issuer <= end;
}

}  // namespace rdmove::gsi
