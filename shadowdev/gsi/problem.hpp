// What a call of this library that can fail in the ordinary way returns: Result<T>, a value or a Problem. A
// Problem is one sentence for people and a code for programs. MADs that are dropped are no problem of the
// caller: they are a Verdict (verdict.hpp). Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rdmove::gsi {

enum class ProblemCode : std::uint8_t {
  BadInput,      ///< the caller's words are wrong
  Damaged,       ///< bytes that were cut, changed, or are no state at all
  OtherVersion,  ///< written by a release that has another format
  TooLarge,      ///< more than the limits of this port allow
  Conflict,      ///< the function, or one of its GIDs, is there already
  NotFound,      ///< no such function
};

struct Problem {
  ProblemCode code = ProblemCode::BadInput;
  std::string message;  ///< what is wrong and what to do
};

template <class T>
using Result = tl::expected<T, Problem>;

inline tl::unexpected<Problem> problem(ProblemCode code, std::string message) {
  return tl::unexpected<Problem>(Problem{code, std::move(message)});
}

}  // namespace rdmove::gsi
