#include "guestagent/failover/connection/memory_pool.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace rdmove::failover::conn {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t page = 4'096;                   // what is registered is pinned by the page
constexpr std::size_t most_pieces = 64;               // of a chunk
constexpr std::size_t large_chunk = std::size_t{4} << 20U;  // one of several pieces is no larger

std::size_t up_to(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

MemoryChunk::MemoryChunk(std::size_t piece_bytes, std::size_t pieces)
    : bytes_(up_to(piece_bytes * pieces, page)),
      memory_(static_cast<std::byte*>(std::aligned_alloc(page, bytes_))) {
  if (!memory_) throw std::bad_alloc();
}

struct MemoryPool::State {
  struct Entry {
    std::shared_ptr<MemoryChunk> chunk;
    std::vector<std::byte*> free;
    std::size_t pieces = 0;
  };
  /// All chunks of one size of pieces.
  struct Shelf {
    std::vector<Entry> entries;
    std::size_t out = 0;
  };

  // A chunk has as many pieces as are out already: at most twice the memory that is used.
  static Entry make(std::size_t bytes, std::size_t out) {
    const std::size_t pieces =
        std::clamp<std::size_t>(out, 1, std::clamp<std::size_t>(large_chunk / bytes, 1, most_pieces));
    Entry entry{std::make_shared<MemoryChunk>(bytes, pieces), {}, pieces};
    entry.free.reserve(pieces);  // to give one back allocates nothing
    for (std::size_t i = pieces; i-- > 0;) entry.free.push_back(entry.chunk->address() + i * bytes);
    return entry;
  }

  void give_back(const std::shared_ptr<MemoryChunk>& chunk, std::byte* address, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    const auto place = shelves.find(bytes);
    Shelf& shelf = place->second;
    const auto entry = std::find_if(shelf.entries.begin(), shelf.entries.end(),
                                    [&](const Entry& one) { return one.chunk == chunk; });
    --shelf.out;
    entry->free.push_back(address);
    if (entry->free.size() < entry->pieces) return;
    chunk->is_retired_ = true;
    shelf.entries.erase(entry);
    if (shelf.entries.empty()) shelves.erase(place);
  }

  std::mutex mutex;
  std::map<std::size_t, Shelf> shelves;  // by the bytes of a piece
};

MemoryPool::MemoryPool() : state_(std::make_shared<State>()) {}
MemoryPool::~MemoryPool() = default;

std::shared_ptr<MemoryPiece> MemoryPool::take(std::size_t bytes) {
  const std::size_t size = up_to(std::max<std::size_t>(bytes, 1), line);
  const std::lock_guard lock(state_->mutex);
  State::Shelf& shelf = state_->shelves[size];
  auto entry = std::find_if(shelf.entries.begin(), shelf.entries.end(),
                            [](const State::Entry& one) { return !one.free.empty(); });
  if (entry == shelf.entries.end())
    entry = shelf.entries.insert(shelf.entries.end(), State::make(size, shelf.out));
  auto piece = std::make_shared<MemoryPiece>(state_, entry->chunk, entry->free.back(), size);
  entry->free.pop_back();
  ++shelf.out;
  return piece;
}

MemoryPiece::MemoryPiece(std::shared_ptr<MemoryPool::State> pool, std::shared_ptr<MemoryChunk> chunk,
                         std::byte* address, std::size_t bytes)
    : pool_(std::move(pool)), chunk_(std::move(chunk)), address_(address), bytes_(bytes) {}

MemoryPiece::~MemoryPiece() {
  pool_->give_back(chunk_, address_, bytes_);
}

}  // namespace rdmove::failover::conn
