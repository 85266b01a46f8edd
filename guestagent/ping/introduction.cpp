#include "guestagent/ping/introduction.hpp"

#include <algorithm>
#include <cstring>

#include "guestagent/ping/message.hpp"

namespace rdmove::ping {
namespace {

constexpr std::uint32_t kIntroduction = 0x676e6970;  // "ping"

}  // namespace

std::vector<std::byte> write_introduction(const Introduction& introduction) {
  const std::uint32_t words[] = {kIntroduction, introduction.size, introduction.one_sided.to_word()};
  std::vector<std::byte> data(sizeof words);
  std::memcpy(data.data(), words, sizeof words);
  return data;
}

std::optional<Introduction> read_introduction(std::span<const std::byte> data) {
  constexpr std::size_t earlier = 2 * sizeof(std::uint32_t);
  std::uint32_t words[3] = {};
  if (data.size() < earlier) return std::nullopt;
  std::memcpy(words, data.data(), std::min(data.size(), sizeof words));
  if (words[0] != kIntroduction || words[1] < kSmallest || words[1] > kLargest) return std::nullopt;
  return Introduction{words[1], OneSided::from_word(words[2])};
}

}  // namespace rdmove::ping
