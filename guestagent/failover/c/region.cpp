#include "guestagent/failover/c/handles.hpp"

using namespace rdmove::failover;
using namespace rdmove::failover::c;

struct rdmove_region final : Held {
  rdmove_region(rdmove_loop& of, std::unique_ptr<Region> made) : loop(of), region(std::move(made)) {
    loop.held.insert(this);
  }
  ~rdmove_region() override { loop.held.erase(this); }
  void drop() override { region.reset(); }

  rdmove_loop& loop;
  std::unique_ptr<Region> region;
};

int rdmove_register_memory(rdmove_connection* connection, void* address, size_t length, int access,
                           rdmove_region** region) {
  if (region == nullptr)
    return invalid("rdmove_register_memory: the pointer for the region must not be NULL");
  return on_loop(connection->loop, [&] {
    if (connection->current == nullptr) return failed(ErrorCode::Gone, "the connection has ended");
    auto made = connection->current->register_memory(address, length, access);
    if (!made) return failed(made.error());
    *region = new rdmove_region(connection->loop, std::move(*made));
    return 0;
  });
}

void rdmove_region_destroy(rdmove_region* region) {
  destroy(region);
}

uint32_t rdmove_region_local_key(rdmove_region* region) {
  return on_loop(region->loop, [&] { return region->region ? region->region->local_key() : 0; });
}

uint32_t rdmove_region_remote_key(rdmove_region* region) {
  return on_loop(region->loop, [&] { return region->region ? region->region->remote_key() : 0; });
}
