// What a call of the shadow device that can fail in the ordinary way returns: a value, or a sentence for
// people with a code for programs. Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rdmove::shadow {

enum class ProblemCode : std::uint8_t {
  BadInput,      ///< the caller's words are wrong
  Damaged,       ///< bytes that were cut or changed, or that contradict themselves
  OtherVersion,  ///< written by a release with another format
  TooLarge,      ///< more than a limit allows
  Refused,       ///< a peer asked for what it may not have
  NotYet,        ///< it can be asked again
  Failed,        ///< a verbs call below failed
};

struct Problem {
  ProblemCode code = ProblemCode::BadInput;
  std::string message;  ///< what was tried, what is wrong, what to do
};

template <class T>
using Result = tl::expected<T, Problem>;

inline tl::unexpected<Problem> problem(ProblemCode code, std::string message) {
  return tl::unexpected<Problem>(Problem{code, std::move(message)});
}

}  // namespace rdmove::shadow
