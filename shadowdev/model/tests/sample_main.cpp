// Writes the sample's snapshot to standard output: sample [QP STATE].
#include <cstdio>
#include <cstdlib>

#include "shadowdev/model/snapshot.hpp"
#include "shadowdev/model/tests/sample.hpp"

int main(int argc, char** argv) {
  auto process = rdmove::shadow::model::test::sample();
  if (argc > 1)
    process.qps[0].state = static_cast<rdmove::shadow::model::QpState>(std::strtoul(argv[1], nullptr, 10));
  const auto bytes = rdmove::shadow::model::encode(process);
  if (!bytes) return 1;
  return std::fwrite(bytes->data(), 1, bytes->size(), stdout) == bytes->size() ? 0 : 1;
}
