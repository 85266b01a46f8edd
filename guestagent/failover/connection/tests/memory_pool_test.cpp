// Pieces of shared memory: apart from each other, in few chunks, and nobody's again only when all have let go.
#include "guestagent/failover/connection/memory_pool.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "guestagent/failover/connection/cm/chunk_registrations.hpp"
#include "guestagent/failover/connection/tests/two_machines.hpp"

namespace rdmove::failover::conn {
namespace {

using Pieces = std::vector<std::shared_ptr<MemoryPiece>>;

Pieces take(MemoryPool& pool, std::size_t count, std::size_t bytes) {
  Pieces pieces;
  for (std::size_t i = 0; i < count; ++i) pieces.push_back(pool.take(bytes));
  return pieces;
}

std::map<MemoryChunk*, std::size_t> chunks_of(const Pieces& pieces) {
  std::map<MemoryChunk*, std::size_t> chunks;
  for (const auto& piece : pieces) ++chunks[piece->chunk().get()];
  return chunks;
}

TEST(MemoryPool, pieces_lie_on_lines_of_their_own_inside_their_chunk) {
  MemoryPool pool;
  const Pieces pieces = take(pool, 100, 1'000);
  std::map<std::byte*, std::size_t> places;
  for (const auto& piece : pieces) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece->address()) % 64, 0U);
    EXPECT_GE(piece->bytes(), 1'000U);
    EXPECT_GE(piece->address(), piece->chunk()->address());
    EXPECT_LE(piece->address() + piece->bytes(), piece->chunk()->address() + piece->chunk()->bytes());
    std::memset(piece->address(), 1, piece->bytes());  // the sanitizer's opinion
    places[piece->address()] = piece->bytes();
  }
  ASSERT_EQ(places.size(), pieces.size());
  for (auto at = places.begin(); std::next(at) != places.end(); ++at)
    EXPECT_LE(at->first + at->second, std::next(at)->first);
}

TEST(MemoryPool, chunks_grow_with_what_is_used_and_are_at_most_twice_of_it) {
  MemoryPool pool;
  Pieces pieces;
  for (std::size_t count = 1; count <= 512; ++count) {
    pieces.push_back(pool.take(8'192));
    std::size_t bytes = 0;
    for (const auto& [chunk, used] : chunks_of(pieces)) bytes += chunk->bytes();
    ASSERT_LE(bytes, 2 * count * 8'192) << count;
  }
  EXPECT_EQ(chunks_of(pieces).size(), 7U + 7U) << "1, 1, 2, 4 ... 32, and 64 seven times";
}

TEST(MemoryPool, each_size_has_chunks_of_its_own_and_large_pieces_few) {
  MemoryPool pool;
  const Pieces small = take(pool, 4, 640);
  const Pieces other = take(pool, 4, 704);
  for (const auto& [chunk, used] : chunks_of(small)) EXPECT_FALSE(chunks_of(other).contains(chunk));
  const Pieces large = take(pool, 8, std::size_t{3} << 20U);
  EXPECT_EQ(chunks_of(large).size(), 8U) << "two of them would be more than a chunk is to be";
}

TEST(MemoryPool, a_piece_is_somebody_else_s_only_when_the_last_has_let_go) {
  MemoryPool pool;
  Pieces pieces = take(pool, 2, 4'096);
  const Pieces rest = take(pool, 1, 4'096);  // keeps the chunk of the second
  std::byte* const address = pieces[1]->address();
  const auto still_written = pieces[1];
  pieces.clear();
  const auto next = pool.take(4'096);
  EXPECT_NE(next->address(), address);
  std::set<std::byte*> later;
  {
    const auto last = pool.take(4'096);
    later.insert(last->address());
  }
  EXPECT_FALSE(later.contains(address));
}

TEST(MemoryPool, what_is_given_back_is_given_again) {
  MemoryPool pool;
  Pieces pieces = take(pool, 4, 4'096);  // 1, 1 and 2
  std::byte* const address = pieces[2]->address();
  pieces[2].reset();
  EXPECT_EQ(pool.take(4'096)->address(), address);
}

TEST(MemoryPool, a_chunk_that_nobody_uses_goes_and_is_not_given_from_any_more) {
  MemoryPool pool;
  auto first = pool.take(4'096);
  const std::weak_ptr<MemoryChunk> watched = first->chunk();
  const auto registered = first->chunk();
  EXPECT_FALSE(registered->is_retired());
  first.reset();
  EXPECT_TRUE(registered->is_retired());
  EXPECT_NE(pool.take(4'096)->chunk(), registered);
}

TEST(MemoryPool, pieces_outlive_their_pool) {
  auto pool = std::make_unique<MemoryPool>();
  const auto piece = pool->take(100);
  pool.reset();
  std::memset(piece->address(), 1, piece->bytes());
}

TEST(MemoryPool, is_given_back_to_from_other_threads) {
  MemoryPool pool;
  for (int round = 0; round < 50; ++round) {
    Pieces pieces = take(pool, 64, 256);
    std::thread other([half = Pieces(pieces.begin(), pieces.begin() + 32)]() mutable { half.clear(); });
    pieces.clear();
    const Pieces meanwhile = take(pool, 64, 256);
    std::set<std::byte*> places;
    for (const auto& piece : meanwhile) places.insert(piece->address());
    EXPECT_EQ(places.size(), 64U);
    other.join();
  }
}

class ChunkRegistrationsTest : public testing::Test {
 protected:
  ChunkRegistrations::Calls calls() {
    return {[this](void* address, std::size_t bytes) -> ibv_mr* {
              if (refuses) {
                errno = ENOMEM;
                return nullptr;
              }
              ibv_mr& region = regions.emplace_back();
              region.addr = address;
              region.length = bytes;
              live.insert(&region);
              return &region;
            },
            [this](ibv_mr* region) {
              EXPECT_EQ(live.erase(region), 1U);
              // It is the device's until now: the memory is there.
              std::memset(region->addr, 0, region->length);
            }};
  }

  std::deque<ibv_mr> regions;
  std::set<ibv_mr*> live;
  bool refuses = false;
  MemoryPool pool;
};

TEST_F(ChunkRegistrationsTest, a_chunk_is_registered_once_and_whole) {
  ChunkRegistrations registrations(calls());
  const Pieces pieces = take(pool, 64, 1'024);
  for (const auto& piece : pieces) {
    const auto region = registrations.of(piece->chunk());
    ASSERT_TRUE(region);
    EXPECT_LE((*region)->addr, piece->address());
    EXPECT_GE(static_cast<std::byte*>((*region)->addr) + (*region)->length,
              piece->address() + piece->bytes());
  }
  EXPECT_EQ(live.size(), chunks_of(pieces).size());
}

TEST_F(ChunkRegistrationsTest, keep_the_memory_until_they_are_struck) {
  ChunkRegistrations registrations(calls());
  Pieces pieces = take(pool, 4, 1'024);
  for (const auto& piece : pieces) ASSERT_TRUE(registrations.of(piece->chunk()));
  const auto all = live.size();
  registrations.strike_retired();
  EXPECT_EQ(live.size(), all) << "they are used";
  pieces.erase(pieces.begin() + 1, pieces.end());
  registrations.strike_retired();
  EXPECT_EQ(live.size(), 1U);
  EXPECT_EQ(*registrations.of(pieces[0]->chunk()), *live.begin());
}

TEST_F(ChunkRegistrationsTest, all_go_with_the_device) {
  Pieces pieces;
  {
    ChunkRegistrations registrations(calls());
    pieces = take(pool, 4, 1'024);
    for (const auto& piece : pieces) ASSERT_TRUE(registrations.of(piece->chunk()));
  }
  EXPECT_TRUE(live.empty());
}

TEST_F(ChunkRegistrationsTest, a_device_that_refuses_may_take_it_later) {
  ChunkRegistrations registrations(calls());
  const auto piece = pool.take(100);
  refuses = true;
  const auto refused = registrations.of(piece->chunk());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("ibv_reg_mr"), std::string::npos);
  refuses = false;
  EXPECT_TRUE(registrations.of(piece->chunk()));
}

using fake::TwoMachines;
using std::chrono::milliseconds;

// Its next owner must not find in it what an old queue pair still writes.
TEST_F(TwoMachines, shared_memory_is_kept_until_the_last_queue_pair_that_knows_it_is_gone) {
  bring_up();
  auto piece = a->hub.memory().take(100);
  std::unique_ptr<Region> region;
  a->hub.for_each([&](ConnectionCore& core) { region = std::move(*core.use_memory(piece)); });
  ASSERT_TRUE(region);
  EXPECT_EQ(region->address(), piece->address());
  const auto key = region->local_key();
  EXPECT_NE(key, 0U);
  caller->connection->restart();
  run(milliseconds(100));
  EXPECT_NE(region->local_key(), key);
  EXPECT_NE(region->local_key(), 0U);

  const std::weak_ptr<MemoryPiece> watched = piece;
  caller->connection->close();
  region.reset();
  piece.reset();
  EXPECT_FALSE(watched.expired()) << "the queue pair is not destroyed yet";
  a->reaper.run_all();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace rdmove::failover::conn
