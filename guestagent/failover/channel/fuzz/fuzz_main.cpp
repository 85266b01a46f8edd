#include "guestagent/failover/channel/fuzz/session_script.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rdmove::failover::channel::fuzz::run_script({data, size});
  return 0;
}
