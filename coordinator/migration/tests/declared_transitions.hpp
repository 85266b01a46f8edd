// The transitions that a machine's source declares: every transit<TARGET>() in a reaction of a state. What
// the tests take is held against it, so that a transition which no test takes fails.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <utility>

namespace rdmove {

using Transitions = std::set<std::pair<std::string, std::string>>;

inline Transitions declaredTransitions(const std::string& source) {
  static const std::regex kReaction(R"(^sc::result (\w+)::\w+\()");
  static const std::regex kTransit(R"(transit<(\w+)>)");
  std::ifstream file(source);
  EXPECT_TRUE(file) << source;
  Transitions found;
  std::string state;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kReaction)) state = match[1];
    for (auto each = std::sregex_iterator(line.begin(), line.end(), kTransit); each != std::sregex_iterator();
         ++each)
      found.emplace(state, (*each)[1]);
  }
  EXPECT_FALSE(found.empty()) << source;
  return found;
}

}  // namespace rdmove
