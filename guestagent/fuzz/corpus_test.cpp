// A fuzz target's kept inputs, and mutations of them, as a test with any compiler. RDMOVE_FUZZ_RUNS=N says
// how many mutations, RDMOVE_FUZZ_SEED=S which; RDMOVE_FUZZ_INPUT=FILE runs that input alone. The build gives
// RDMOVE_FUZZ_NAME, RDMOVE_FUZZ_CORPUS and RDMOVE_FUZZ_DEFAULT_RUNS.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

#include "guestagent/fuzz/current_input.hpp"
#include "guestagent/fuzz/mutator.hpp"
#include "guestagent/fuzz/target.hpp"

namespace rdmove::fuzz {
namespace {

struct Kept {
  std::vector<std::string> names;
  std::vector<Input> inputs;
};

Input input_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// By name, so that a seed gives the same mutations everywhere.
Kept kept_inputs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(RDMOVE_FUZZ_CORPUS))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Kept kept;
  for (const auto& path : paths) {
    kept.names.push_back(path.filename());
    kept.inputs.push_back(input_in(path));
  }
  return kept;
}

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// Why `input` breaks a rule; empty if it breaks none.
std::string fault_of(const Input& input) {
  try {
    run(input);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(RDMOVE_FUZZ_NAME, kept_inputs_break_no_rule) {
  if (const char* const alone = std::getenv("RDMOVE_FUZZ_INPUT")) {
    EXPECT_EQ(fault_of(input_in(alone)), "");
    return;
  }
  const auto kept = kept_inputs();
  ASSERT_GT(kept.inputs.size(), 10U) << "the corpus is not there: " << RDMOVE_FUZZ_CORPUS;
  for (std::size_t i = 0; i < kept.inputs.size(); ++i) {
    SCOPED_TRACE(kept.names[i]);
    EXPECT_EQ(fault_of(kept.inputs[i]), "");
  }
}

TEST(RDMOVE_FUZZ_NAME, mutations_of_them_break_no_rule) {
  const auto kept = kept_inputs();
  ASSERT_FALSE(kept.inputs.empty()) << "the corpus is not there: " << RDMOVE_FUZZ_CORPUS;
  const auto seed = number_from("RDMOVE_FUZZ_SEED", std::random_device{}());
  const auto runs = number_from("RDMOVE_FUZZ_RUNS", RDMOVE_FUZZ_DEFAULT_RUNS);
  std::cout << "RDMOVE_FUZZ_SEED=" << seed << ", " << runs << " mutations\n";
  CurrentInput current("mutated-input");
  Mutator mutator(kept.inputs, seed);
  for (std::uint32_t i = 0; i < runs; ++i) {
    const auto input = mutator.next();
    current.is(input);
    const auto fault = fault_of(input);
    ASSERT_EQ(fault, "") << "mutation " << i << " of seed " << seed << " is kept in " << current.keep();
  }
}

}  // namespace
}  // namespace rdmove::fuzz
