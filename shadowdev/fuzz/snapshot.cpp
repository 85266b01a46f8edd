// Bytes as somebody may call them a snapshot: what is read as one is whole, and is written the same.
#include <algorithm>

#include "guestagent/fuzz/target.hpp"
#include "shadowdev/model/snapshot.hpp"
#include "shadowdev/model/text.hpp"

namespace rdmove::fuzz {

void run(std::span<const std::uint8_t> input) {
  using namespace rdmove::shadow;
  const auto bytes = std::as_bytes(input);
  const auto process = model::decode(bytes);
  if (!process) return require(!process.error().message.empty(), "a refusal says nothing");
  const auto again = model::encode(*process);
  require(again && std::equal(again->begin(), again->end(), bytes.begin(), bytes.end()),
          "it is written otherwise");
  require(model::diff(*process, *process).empty(), "it differs from itself");
  model::dump(*process, true);
}

}  // namespace rdmove::fuzz
