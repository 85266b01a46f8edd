// A layer above a connection that has a few bytes to say with each call after the first, and with its answer:
// 16 of RDMA CM's are left there (docs/reconnect-protocol.md). The connection's own handler, with its life.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rdmove::failover::conn {

class Greeter {
 public:
  virtual ~Greeter() = default;
  /// After opened(), what goes with our call, or with the answer to one that said `heard`. Empty: nothing.
  virtual std::vector<std::byte> greeting(std::span<const std::byte> heard) = 0;
  /// Before up(), if both have said theirs: the other's.
  virtual void greeted(std::span<const std::byte> heard) = 0;
};

}  // namespace rdmove::failover::conn
