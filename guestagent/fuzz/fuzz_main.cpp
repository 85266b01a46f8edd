#include <cstddef>

#include "guestagent/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rdmove::fuzz::run({data, size});
  return 0;
}
