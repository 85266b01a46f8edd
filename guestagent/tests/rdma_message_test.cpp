#include "guestagent/agent/rdma_message.hpp"

#include <gmock/gmock.h>
#include <netlink/msg.h>

#include <cstring>

#include "guestagent/tests/hex.hpp"

namespace rdmove::agent::test {
namespace {

using testing::Contains;
using testing::Pair;
using testing::SizeIs;

// Recorded: what Linux 6.1 answers to RDMA_NLDEV_CMD_STAT_GET for port 1 of rxe0 (`rdma statistic show`).
constexpr const char* kStatistics =
    "0800010004000000090002007278653000000000080003000100000020025080200051800e00520073656e745f706b747300"
    "00000c005300eb60010000000000200051800e005200726376645f706b74730000000c005300da6001000000000028005180"
    "160052006475706c69636174655f726571756573740000000c005300620100000000000028005180170052006f75745f6f66"
    "5f7365715f7265717565737400000c00530000000000000000002400518011005200726376645f726e725f65727200000000"
    "0c0053000000000000000000240051801100520073656e645f726e725f657272000000000c00530000000000000000002400"
    "518011005200726376645f7365715f657272000000000c0053000000000000000000240051801100520061636b5f64656665"
    "72726564000000000c0053000000000000000000280051801700520072657472795f65786365656465645f65727200000c00"
    "530000000000000000002c0051801b00520072657472795f726e725f65786365656465645f65727200000c00530000000000"
    "000000002800518018005200636f6d706c657465725f72657472795f657272000c0053003f00000000000000200051800d00"
    "520073656e645f657272000000000c005300000000000000000020005180100052006c696e6b5f646f776e6564000c005300"
    "0000000000000000200051800f00520072646d615f73656e647300000c0053000669000000000000200051800f0052007264"
    "6d615f726563767300000c0053001270000000000000";

class StatisticsTest : public testing::Test {
 protected:
  static Bytes message(const Bytes& payload) {
    Bytes out(NLMSG_HDRLEN + payload.size());
    const nlmsghdr head{static_cast<std::uint32_t>(out.size()), 0x1411, 0, 1, 0};
    std::memcpy(out.data(), &head, sizeof head);
    std::copy(payload.begin(), payload.end(), out.begin() + NLMSG_HDRLEN);
    return out;
  }
  static void read(const Bytes& bytes, std::map<std::string, std::uint64_t>& out) {
    read_statistics(*reinterpret_cast<const nlmsghdr*>(bytes.data()), out);
  }
};

TEST_F(StatisticsTest, of_a_recorded_answer_are_all_there) {
  std::map<std::string, std::uint64_t> counters;
  read(message(from_hex(kStatistics)), counters);
  EXPECT_THAT(counters, SizeIs(15U));
  EXPECT_THAT(counters, Contains(Pair("sent_pkts", 90347U)));
  EXPECT_THAT(counters, Contains(Pair("rcvd_pkts", 90330U)));
  EXPECT_THAT(counters, Contains(Pair("duplicate_request", 354U)));
  EXPECT_THAT(counters, Contains(Pair("out_of_seq_request", 0U)));
  EXPECT_THAT(counters, Contains(Pair("completer_retry_err", 63U)));
  EXPECT_THAT(counters, Contains(Pair("link_downed", 0U)));
  EXPECT_THAT(counters, Contains(Pair("rdma_sends", 26886U)));
  EXPECT_THAT(counters, Contains(Pair("rdma_recvs", 28690U)));
}

TEST_F(StatisticsTest, what_sysfs_has_told_stays) {
  std::map<std::string, std::uint64_t> counters{{"sent_pkts", 1}};
  read(message(from_hex(kStatistics)), counters);
  EXPECT_EQ(counters.at("sent_pkts"), 1U);
  EXPECT_GT(counters.size(), 1U);
}

TEST_F(StatisticsTest, an_answer_without_a_table_or_cut_anywhere_is_no_harm) {
  const auto whole = from_hex(kStatistics);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::map<std::string, std::uint64_t> counters;
    read(message(Bytes(whole.begin(), whole.begin() + static_cast<long>(size))), counters);
    EXPECT_LT(counters.size(), 15U) << size;
  }
}

}  // namespace
}  // namespace rdmove::agent::test
