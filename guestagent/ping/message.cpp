#include "guestagent/ping/message.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace rdmove::ping {
namespace {

constexpr std::uint32_t kMagic = 0x474e5052;

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

struct Head {
  std::uint32_t magic;
  std::uint32_t size;
  std::uint64_t stream;
  std::uint64_t number;
  std::uint64_t checksum;
};
static_assert(sizeof(Head) == kSmallest);

std::uint64_t word_at(std::uint64_t stream, std::uint64_t number, std::uint64_t place) {
  return mix(stream + number * 0x9e3779b97f4a7c15ULL + place);
}

/// The content's words one by one, the last perhaps cut short.
template <class Bytes, class Visit>
void for_each_word(Bytes content, const Head& head, Visit visit) {
  for (std::size_t at = 0; at < content.size(); at += 8) {
    const std::uint64_t word = word_at(head.stream, head.number, at);
    visit(content.subspan(at, std::min<std::size_t>(8, content.size() - at)), word);
  }
}

std::uint64_t checksum(const Head& head) {
  return mix(head.stream ^ mix(head.number ^ mix(head.size)));
}

}  // namespace

void write_message(std::span<std::byte> message, Stream stream, std::uint64_t number) {
  Head head{kMagic, static_cast<std::uint32_t>(message.size()), static_cast<std::uint64_t>(stream), number,
            0};
  head.checksum = checksum(head);
  for_each_word(message.subspan(kSmallest), head, [&](std::span<std::byte> part, std::uint64_t word) {
    std::memcpy(part.data(), &word, part.size());
    head.checksum = mix(head.checksum + word);
  });
  std::memcpy(message.data(), &head, sizeof head);
}

std::optional<Read> read_message(std::span<const std::byte> message) {
  Head head;
  if (message.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, message.data(), sizeof head);
  if (head.magic != kMagic || head.size != message.size()) return std::nullopt;
  std::uint64_t sum = checksum(head);
  bool is_good = true;
  for_each_word(message.subspan(kSmallest), head, [&](std::span<const std::byte> part, std::uint64_t word) {
    if (std::memcmp(part.data(), &word, part.size()) != 0) is_good = false;
    sum = mix(sum + word);
  });
  if (!is_good || sum != head.checksum) return std::nullopt;
  return Read{Stream{head.stream}, head.number};
}

}  // namespace rdmove::ping
