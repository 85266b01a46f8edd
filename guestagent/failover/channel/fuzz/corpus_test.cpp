// What the fuzzer has kept, and a great many scripts made up here, must go through without a fault.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "guestagent/failover/channel/fuzz/session_script.hpp"

namespace {

using rdmove::failover::channel::fuzz::run_script;

TEST(ChannelCorpus, runsWithoutAFault) {
  int ran = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RDMOVE_CHANNEL_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    run_script({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    ++ran;
  }
  EXPECT_GT(ran, 10) << "the corpus is not there: " << RDMOVE_CHANNEL_CORPUS;
}

TEST(ChannelCorpus, anyScriptRunsWithoutAFault) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  std::cout << "seed " << seed << "\n";
  std::vector<std::uint8_t> script;
  for (int i = 0; i < 20'000; ++i) {
    script.resize(random() % 200);
    for (auto& byte : script) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : random() % 20);
    run_script(script);
  }
}

}  // namespace
