#include "shadowdev/verbs/libibverbs.hpp"

namespace rdmove::shadow {

VerbsCalls linked_calls() {
  VerbsCalls calls;
#define RDMOVE_LINKED(name, version) calls.name = &::name;
  RDMOVE_VERBS_CALLS(RDMOVE_LINKED)
#undef RDMOVE_LINKED
  return calls;
}

}  // namespace rdmove::shadow
