// How many random schedules a property is tried with: RDMOVE_SCHEDULES=N, or what its test has otherwise. The
// seed and the shrunk schedule of a failure are printed; RC_PARAMS="seed=…" runs it again.
#pragma once

#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>

namespace rdmove::failover::conn::fake {

inline int schedules(int otherwise) {
  const char* const asked = std::getenv("RDMOVE_SCHEDULES");
  const int number = asked ? std::atoi(asked) : 0;
  return number > 0 ? number : otherwise;
}

/// The property, with parts of up to `largest`. RC_PARAMS would be every property's of the program.
template <class Property>
bool holds_for(int schedules, int largest, Property&& property) {
  auto parameters = rc::detail::configuration().testParams;
  parameters.maxSuccess = schedules;
  parameters.maxSize = largest;
  const auto result =
      rc::detail::checkTestable(std::forward<Property>(property), rc::detail::TestMetadata(), parameters);
  std::cout << "seed " << parameters.seed << ": ";
  rc::detail::printResultMessage(result, std::cout);
  std::cout << "\n";
  return result.template is<rc::detail::SuccessResult>();
}

}  // namespace rdmove::failover::conn::fake
