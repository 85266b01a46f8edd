// The functions of libibverbs and librdmacm that stand before the real ones: each passes on what is not the
// shadow's, since the real library, its providers and librdmacm call the same public names with physical
// objects. What the shadow does not have is refused as by a device that lacks it (docs/qp-state.md).
#pragma once

#include "shadowdev/interpose/this_process.hpp"

namespace rdmove::shadow {

struct Override {
  const char* name;
  const char* version;
  void* function;
};

/// device_overrides.cpp: devices, contexts, ports, tables. object_overrides.cpp: all that is made on them.
const Override* find_device_override(const char* name, const char* version);
const Override* find_object_override(const char* name, const char* version);

/// cm_overrides.cpp: RDMA CM.
const Override* find_cm_override(const char* name, const char* version, void* function);

/// Whether it is librdmacm that calls, from within one of its own functions.
bool is_rdma_cm(void* caller);

/// True: the context is virtual, and so is all that was made on it.
bool is_shadowed(const ibv_context* context);

inline const VerbsCalls& real() {
  return ThisProcess::real();
}
inline ShadowVerbs& shadow() {
  return ThisProcess::get().verbs();
}

/// -1 and errno, as some of the functions say it.
inline int minus_one(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/// Calls `call` with the physical context of a virtual one; waits for it while it is away.
template <class Call>
auto with_physical(ibv_context* shown, Call&& call, decltype(call(shown)) otherwise) {
  VirtualContext& context = VirtualContext::of(shown);
  std::unique_lock hold(context.engine->control);
  const auto is_there = [&] { return context.physical != nullptr && !context.moving; };
  if (!context.engine->came_back.wait_for(hold, context.engine->options.control_wait, is_there)) {
    errno = EBUSY;
    return otherwise;
  }
  return call(context.physical);
}

}  // namespace rdmove::shadow
