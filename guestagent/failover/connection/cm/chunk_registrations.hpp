// The chunks of memory that are registered on a device, each once for all who have a piece of it. Owned by the
// device. A registration keeps its memory.
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "guestagent/failover/connection/memory_pool.hpp"
#include "rdmove/error.hpp"

namespace rdmove::failover::conn {

class ChunkRegistrations {
 public:
  /// How it is done: a registration, or null and errno.
  struct Calls {
    std::function<ibv_mr*(void* address, std::size_t bytes)> enrol;
    std::function<void(ibv_mr*)> strike;
  };

  explicit ChunkRegistrations(Calls calls) : calls_(std::move(calls)) {}
  ~ChunkRegistrations();  ///< after the last queue pair
  ChunkRegistrations(const ChunkRegistrations&) = delete;
  ChunkRegistrations& operator=(const ChunkRegistrations&) = delete;

  /// Stays for as long as the caller keeps a piece of the chunk.
  Result<ibv_mr*> of(const std::shared_ptr<MemoryChunk>& chunk);
  /// Those that nobody has a piece of. Any thread.
  void strike_retired();

 private:
  struct Entry {
    std::shared_ptr<MemoryChunk> chunk;
    ibv_mr* region;
  };

  const Calls calls_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace rdmove::failover::conn
