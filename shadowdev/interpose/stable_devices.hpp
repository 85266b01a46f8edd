// The devices as librdmacm sees them: it takes one that comes back for another, by its address in the list
// and by its index, and then has two of everything. So it gets copies that stay, one for each GUID, without
// an index, and as long as a context is open on one, that one is there. Never ends. Any thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <set>

namespace rdmove::shadow {

class StableDevices {
 public:
  /// As ibv_get_device_list().
  ibv_device** list(int* count);
  /// False: not one of list().
  bool free(ibv_device** list);
  /// The GUID of one of ours, as libibverbs says it; null for any other.
  const std::uint64_t* guid_of(const ibv_device* device);

 private:
  struct One : ibv_device {
    std::uint64_t guid = 0;
    bool present = false;
  };
  One& same_as(const ibv_device& real, std::uint64_t guid);

  std::mutex lock_;
  std::list<One> all_;
  std::set<ibv_device**> lists_;
};

}  // namespace rdmove::shadow
