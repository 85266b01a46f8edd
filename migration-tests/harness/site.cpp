#include "migration-tests/harness/site.hpp"

namespace rdmove::harness {

Words Script::words() const {
  Words all = prefix;
  all.push_back(text);
  return all;
}

Ended run(const Script& script, std::chrono::milliseconds limit) {
  return run(script.words(), limit);
}

std::string text(const Script& script, std::chrono::milliseconds limit) {
  Ended ended = run(script, limit);
  if (!ended.ok()) return "";
  while (ended.output.ends_with('\n')) ended.output.pop_back();
  return std::move(ended.output);
}

}  // namespace rdmove::harness
