// Memory for work requests, in pieces of one size, cut from chunks that a device registers once: to register
// each piece by itself would be a fifth of what a connection costs when it comes back. Owned by the hub; taken
// on the loop's thread, let go of on any.
//
// A piece is free again when the last who holds it lets go: its user, and each endpoint whose queue pair may
// still write into it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace rdmove::failover::conn {

/// Kept alive by the pool while it may have pieces to give, by its pieces, and by its registrations.
class MemoryChunk {
 public:
  MemoryChunk(std::size_t piece_bytes, std::size_t pieces);
  [[nodiscard]] std::byte* address() const { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// None of its pieces is out, and none will be: nobody needs its registrations any more.
  [[nodiscard]] bool is_retired() const { return is_retired_; }

 private:
  friend class MemoryPool;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const std::size_t bytes_;
  const std::unique_ptr<std::byte, Free> memory_;
  std::atomic<bool> is_retired_{false};
};

class MemoryPiece;

class MemoryPool {
 public:
  MemoryPool();
  ~MemoryPool();  ///< pieces may outlive it
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// At least so many bytes, on a cache line of its own, with anything in them. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<MemoryPiece> take(std::size_t bytes);

 private:
  friend class MemoryPiece;
  struct State;
  const std::shared_ptr<State> state_;
};

class MemoryPiece {
 public:
  MemoryPiece(std::shared_ptr<MemoryPool::State> pool, std::shared_ptr<MemoryChunk> chunk, std::byte* address,
              std::size_t bytes);
  ~MemoryPiece();
  MemoryPiece(const MemoryPiece&) = delete;
  MemoryPiece& operator=(const MemoryPiece&) = delete;

  [[nodiscard]] std::byte* address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::shared_ptr<MemoryChunk>& chunk() const { return chunk_; }

 private:
  const std::shared_ptr<MemoryPool::State> pool_;
  const std::shared_ptr<MemoryChunk> chunk_;
  std::byte* const address_;
  const std::size_t bytes_;
};

}  // namespace rdmove::failover::conn
