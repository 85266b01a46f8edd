#include "shadowdev/link/frame.hpp"

#include <algorithm>
#include <utility>

#include "shadowdev/device/peer_message.hpp"

namespace rdmove::shadow {
namespace {

// length (2), version, kind, id (4), from (16), to (16), payload; numbers in network order.
constexpr std::size_t kHead = 40;
constexpr std::size_t kLongest = kHead + kLongestMessage;

std::uint8_t byte_at(const std::vector<std::byte>& bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

Frame frame_of(const std::vector<std::byte>& bytes, std::size_t length) {
  Frame frame;
  frame.kind = FrameKind{byte_at(bytes, 3)};
  for (std::size_t i = 4; i < 8; ++i) frame.id = frame.id << 8U | byte_at(bytes, i);
  for (std::size_t i = 0; i < sizeof(ibv_gid); ++i) {
    frame.from.raw[i] = byte_at(bytes, 8 + i);
    frame.to.raw[i] = byte_at(bytes, 24 + i);
  }
  frame.payload.assign(bytes.begin() + kHead, bytes.begin() + static_cast<std::ptrdiff_t>(length));
  return frame;
}

}  // namespace

std::vector<std::byte> encode(const Frame& frame) {
  const std::size_t length = kHead + std::min(frame.payload.size(), kLongestMessage);
  std::vector<std::byte> bytes;
  bytes.reserve(length);
  const auto put = [&](std::size_t value) { bytes.push_back(static_cast<std::byte>(value & 0xFFU)); };
  put(length >> 8U);
  put(length);
  put(kLinkVersion);
  put(static_cast<std::uint8_t>(frame.kind));
  for (const unsigned shift : {24U, 16U, 8U, 0U}) put(frame.id >> shift);
  for (const std::uint8_t one : frame.from.raw) put(one);
  for (const std::uint8_t one : frame.to.raw) put(one);
  bytes.insert(bytes.end(), frame.payload.begin(),
               frame.payload.begin() + static_cast<std::ptrdiff_t>(length - kHead));
  return bytes;
}

bool FrameSplitter::push(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  while (bytes_.size() >= 4) {
    const std::size_t length = std::size_t{byte_at(bytes_, 0)} << 8U | byte_at(bytes_, 1);
    const std::uint8_t kind = byte_at(bytes_, 3);
    if (length < kHead || length > kLongest || byte_at(bytes_, 2) != kLinkVersion ||
        kind < static_cast<std::uint8_t>(FrameKind::Here) ||
        kind > static_cast<std::uint8_t>(FrameKind::Nobody))
      return false;
    if (bytes_.size() < length) return true;
    ready_.push_back(frame_of(bytes_, length));
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
  }
  return true;
}

std::optional<Frame> FrameSplitter::next() {
  if (ready_.empty()) return std::nullopt;
  Frame frame = std::move(ready_.front());
  ready_.pop_front();
  return frame;
}

void FrameSplitter::reset() {
  bytes_.clear();
  ready_.clear();
}

}  // namespace rdmove::shadow
