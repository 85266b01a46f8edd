#include "shadowdev/model/snapshot.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <boost/crc.hpp>

#include "shadowdev/model/tests/sample.hpp"

namespace rdmove::shadow::model {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes whole() {
  return encode(test::sample()).value();
}

/// With a checksum that fits, as somebody would who means harm.
Bytes sealed(Bytes bytes) {
  const std::uint64_t length = bytes.size();
  for (std::size_t i = 0; i < 8; ++i) bytes[8 + i] = static_cast<std::byte>(length >> (8U * i));
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size() - 4);
  for (std::size_t i = 0; i < 4; ++i)
    bytes[bytes.size() - 4 + i] = static_cast<std::byte>(crc.checksum() >> (8U * i));
  return bytes;
}

void put32(Bytes& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8U * i));
}

TEST(Snapshot, comesBackAsItWas) {
  const auto back = decode(whole());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, test::sample());
}

TEST(Snapshot, isRefusedWhereverItIsCut) {
  const Bytes bytes = whole();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode(std::span(bytes).first(length))) << length;
    // Also when whoever cut it has made the rest fit.
    if (length < 20) continue;
    EXPECT_FALSE(decode(sealed(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(length))))) << length;
  }
}

TEST(Snapshot, isRefusedWhenABitIsTurned) {
  const Bytes bytes = whole();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{4};
    EXPECT_FALSE(decode(changed)) << at;
  }
}

TEST(Snapshot, ofAnotherReleaseNamesItsFormat) {
  Bytes bytes = whole();
  bytes[4] = std::byte{9};
  const auto refused = decode(sealed(bytes));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ProblemCode::OtherVersion);
  EXPECT_THAT(refused.error().message, HasSubstr("format 9"));
}

TEST(Snapshot, takesNoMemoryForWhatItClaimsToHave) {
  for (const std::uint32_t claim : {0x80000000U, 0xFFFFFFFFU, 0x10000U}) {
    Bytes bytes = whole();
    put32(bytes, 16, claim);  // the number of contexts
    const auto refused = decode(sealed(bytes));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ProblemCode::Damaged);
    EXPECT_THAT(refused.error().message, HasSubstr("more entries"));
  }
}

struct Wrong {
  const char* name;
  void (*make)(Process&);
  const char* said;
};

class Inconsistent : public testing::TestWithParam<Wrong> {};

TEST_P(Inconsistent, isNeitherWrittenNorRead) {
  Process process = test::sample();
  GetParam().make(process);
  const auto refused = encode(process);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Inconsistent,
    testing::Values(
        Wrong{"dangling", [](Process& p) { p.pds[0].context = ObjectId{0}; }, "pd 2 has no context"},
        Wrong{"missing", [](Process& p) { p.contexts.clear(); }, "which is no context"},
        Wrong{"wrongKind", [](Process& p) { p.qps[0].send_cq = ObjectId{2}; }, "which is no cq"},
        Wrong{"cyclic", [](Process& p) { p.pds[0].context = ObjectId{2}; }, "not made before it"},
        Wrong{"forward", [](Process& p) { p.qps[0].held[0].ah = ObjectId{9}; }, "not made before it"},
        Wrong{"twice", [](Process& p) { p.pds.push_back(p.pds[0]); }, "has the id of another"},
        Wrong{"number", [](Process& p) { p.qps[0].number = QueuePairNumber{1U << 24U}; }, "24 bits"},
        Wrong{"psn", [](Process& p) { p.qps[0].send_psn = PacketSequenceNumber{1U << 24U}; }, "24 bits"},
        Wrong{"xrc", [](Process& p) { p.qps[0].type = QpType{9}; }, "not shadowed"},
        Wrong{"sends", [](Process& p) { p.qps[0].max_send_wr = 0; }, "more sends"},
        Wrong{"memory", [](Process& p) { p.regions[0].length = ~0ULL; }, "end of memory"}),
    [](const testing::TestParamInfo<Wrong>& one) { return std::string(one.param.name); });

TEST(Snapshot, keepsToItsSizePerQueuePairAndReceive) {
  Process process = test::sample();
  const std::size_t before = encode(process)->size();
  QueuePair qp = process.qps[0];
  qp.id = ObjectId{10};
  qp.held.clear();
  qp.receives.clear();
  qp.max_recv_wr = 1000;
  process.qps.push_back(qp);
  const std::size_t with_qp = encode(process)->size();
  EXPECT_LE(with_qp - before, 512U);
  for (int i = 0; i < 1000; ++i) process.qps[1].receives.push_back({1, {{2, 3, MemoryKey{4}}}});
  EXPECT_LE(encode(process)->size() - with_qp, 32U * 1000);
}

TEST(Snapshot, bytesOfAnyKindAreReadOrRefused) {
  const Bytes bytes = whole();
  std::size_t read = 0;
  const bool held = rc::check("no bytes do harm", [&] {
    Bytes changed = bytes;
    const auto edits = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint8_t>>>(
        rc::gen::pair(rc::gen::arbitrary<std::uint16_t>(), rc::gen::arbitrary<std::uint8_t>()));
    for (const auto& [at, value] : edits) changed[16 + at % (changed.size() - 20)] = std::byte{value};
    const auto process = decode(sealed(changed));
    if (!process) return;
    ++read;
    RC_ASSERT(encode(*process).value() == sealed(changed));
  });
  EXPECT_TRUE(held);
  EXPECT_GT(read, 0U);
}

}  // namespace
}  // namespace rdmove::shadow::model
