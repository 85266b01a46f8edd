#include "shadowdev/device/peer_message.hpp"

#include <concepts>
#include <string>

namespace rdmove::shadow {
namespace {

constexpr std::uint8_t kQuestion = 'Q';
constexpr std::uint8_t kAnswer = 'A';
constexpr std::uint32_t k24Bits = 0xFFFFFF;

class Out {
 public:
  Out(std::uint8_t kind) { put(kind).put(kPeerVersion); }
  template <std::unsigned_integral T>
  Out& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes.push_back(static_cast<std::byte>(std::uint64_t{value} >> (8U * (sizeof(T) - 1 - i))));
    return *this;
  }
  Out& put(const Pairs& pairs) {
    const std::size_t count = std::min(pairs.size(), kMostPairs);
    put(static_cast<std::uint16_t>(count));
    for (std::size_t i = 0; i < count; ++i) put(pairs[i].first).put(pairs[i].second);
    return *this;
  }
  std::vector<std::byte> bytes;
};

class In {
 public:
  explicit In(std::span<const std::byte> bytes) : left_(bytes) {}
  template <std::unsigned_integral T>
  T get() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof(T)) {
      good_ = false;
      left_ = {};
      return 0;
    }
    for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8U | std::to_integer<std::uint8_t>(left_[i]);
    left_ = left_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  std::uint32_t get24() {
    const auto value = get<std::uint32_t>();
    if (value > k24Bits) good_ = false;
    return value;
  }
  bool flag() {
    const auto value = get<std::uint8_t>();
    if (value > 1) good_ = false;
    return value == 1;
  }
  Pairs pairs() {
    Pairs all;
    const auto count = get<std::uint16_t>();
    if (count > kMostPairs || left_.size() < count * 8U) {
      good_ = false;
      return all;
    }
    for (unsigned i = 0; i < count; ++i) {
      const auto first = get<std::uint32_t>();
      all.emplace_back(first, get<std::uint32_t>());
    }
    return all;
  }
  void begin(std::uint8_t kind) {
    if (get<std::uint8_t>() != kind || get<std::uint8_t>() != kPeerVersion) good_ = false;
  }
  [[nodiscard]] bool whole() const { return good_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

tl::unexpected<Problem> damaged() {
  return problem(ProblemCode::Damaged,
                 "A peer's message is cut, of another version, or none. Bring both guests to one release.");
}

}  // namespace

std::vector<std::byte> encode(const Question& q) {
  return Out(kQuestion)
      .put(static_cast<std::uint8_t>(q.ask))
      .put(q.from_number)
      .put(q.to_number)
      .put(q.from_epoch)
      .put(q.physical_number)
      .put(q.psn)
      .put(q.pairs)
      .bytes;
}

std::vector<std::byte> encode(const Answer& a) {
  return Out(kAnswer)
      .put(static_cast<std::uint8_t>(a.said))
      .put(static_cast<std::uint8_t>(a.drained))
      .put(static_cast<std::uint8_t>(a.moved))
      .put(a.send_psn)
      .put(a.receive_psn)
      .put(a.epoch)
      .put(a.physical_number)
      .put(a.pairs)
      .bytes;
}

Result<Question> decode_question(std::span<const std::byte> bytes) {
  In in(bytes);
  in.begin(kQuestion);
  Question q;
  q.ask = Ask{in.get<std::uint8_t>()};
  q.from_number = in.get24();
  q.to_number = in.get24();
  q.from_epoch = in.get<std::uint32_t>();
  q.physical_number = in.get24();
  q.psn = in.get24();
  q.pairs = in.pairs();
  if (!in.whole() || q.ask < Ask::Meet || q.ask > Ask::Back) return damaged();
  return q;
}

Result<Answer> decode_answer(std::span<const std::byte> bytes) {
  In in(bytes);
  in.begin(kAnswer);
  Answer a;
  a.said = Said{in.get<std::uint8_t>()};
  a.drained = in.flag();
  a.moved = in.flag();
  a.send_psn = in.get24();
  a.receive_psn = in.get24();
  a.epoch = in.get<std::uint32_t>();
  a.physical_number = in.get24();
  a.pairs = in.pairs();
  if (!in.whole() || a.said > Said::NotThere) return damaged();
  return a;
}

}  // namespace rdmove::shadow
