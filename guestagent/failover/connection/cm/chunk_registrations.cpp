#include "guestagent/failover/connection/cm/chunk_registrations.hpp"

#include <algorithm>
#include <cerrno>

#include "guestagent/failover/connection/cm/call_error.hpp"

namespace rdmove::failover::conn {

ChunkRegistrations::~ChunkRegistrations() {
  for (const Entry& entry : entries_) calls_.strike(entry.region);
}

Result<ibv_mr*> ChunkRegistrations::of(const std::shared_ptr<MemoryChunk>& chunk) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.chunk == chunk; });
  if (known != entries_.end()) return known->region;
  ibv_mr* const region = calls_.enrol(chunk->address(), chunk->bytes());
  if (!region) return call_failed("ibv_reg_mr", errno);
  entries_.push_back({chunk, region});
  return region;
}

// Taken out first: to deregister can take its time, and others want to register.
void ChunkRegistrations::strike_retired() {
  std::vector<Entry> retired;
  {
    const std::lock_guard lock(mutex_);
    const auto first = std::partition(entries_.begin(), entries_.end(),
                                      [](const Entry& entry) { return !entry.chunk->is_retired(); });
    retired.assign(first, entries_.end());
    entries_.erase(first, entries_.end());
  }
  for (const Entry& entry : retired) calls_.strike(entry.region);
}

}  // namespace rdmove::failover::conn
