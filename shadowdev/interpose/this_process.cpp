#include "shadowdev/interpose/this_process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace rdmove::shadow {
namespace {

std::atomic<bool> child{false};
std::atomic<bool> passes_cm_through{false};

std::string environment(const char* name, const char* otherwise) {
  const char* value = secure_getenv(name);
  return value == nullptr ? otherwise : value;
}

ShadowOptions options() {
  ShadowOptions chosen;
  chosen.control_wait = std::chrono::seconds(60);          // a move's own bounds are shorter
  chosen.quiesce_within = std::chrono::milliseconds(500);  // a crowded host runs a guest late
  chosen.datagram_silence = std::chrono::milliseconds(100);
  chosen.last_wqe_within = std::chrono::milliseconds(20);
  chosen.seed = std::random_device()();
  return chosen;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  int count = 0;
  ibv_device** list = ThisProcess::real().ibv_get_device_list(&count);
  if (list == nullptr) return names;
  for (int i = 0; i < count; ++i) names.emplace_back(list[i]->name);
  ThisProcess::real().ibv_free_device_list(list);
  return names;
}

ControlOptions control_options() {
  return {environment("RDMOVE_SHADOW_AGENT", "/run/rdmove/agent.sock"), program_invocation_short_name,
          device_names, ThisProcess::say};
}

}  // namespace

VerbsCalls ThisProcess::real_;
CmCalls ThisProcess::real_cm_;

void ThisProcess::set_real(const char* name, const char* version, void* function) {
#define RDMOVE_SET(member, at_version)                                          \
  if (std::strcmp(name, #member) == 0 && std::strcmp(version, at_version) == 0) \
    real_.member = reinterpret_cast<decltype(real_.member)>(function);
  RDMOVE_VERBS_CALLS(RDMOVE_SET)
#undef RDMOVE_SET
}

void ThisProcess::set_real_cm(const char* name, const char* version, void* function) {
#define RDMOVE_SET(member, at_version)                                          \
  if (std::strcmp(name, #member) == 0 && std::strcmp(version, at_version) == 0) \
    real_cm_.member = reinterpret_cast<decltype(real_cm_.member)>(function);
  RDMOVE_CM_CALLS(RDMOVE_SET)
#undef RDMOVE_SET
}

ThisProcess::ThisProcess()
    : below_(real_),
      link_(environment("RDMOVE_SHADOW_LINK", "/run/rdmove/shadow.sock"), std::chrono::milliseconds(2000)),
      verbs_(below_, &link_, options()),
      cm_(verbs_, real_cm_),
      control_(verbs_.engine(), link_, control_options()) {
  pthread_atfork(nullptr, nullptr, [] { child = true; });
  link_.connect();  // a QP may connect before the control thread runs
  control_.start();
}

ThisProcess& ThisProcess::get() {
  static auto* one = new ThisProcess();
  return *one;
}

bool ThisProcess::pass_rdma_cm_through() {
  if (passes_cm_through) return true;
  Engine& engine = get().verbs().engine();
  const std::lock_guard hold(engine.control);
  for (const VirtualContext* context : engine.contexts)
    if (context->of_rdma_cm) return false;
  passes_cm_through = true;
  return true;
}

bool ThisProcess::passes_rdma_cm_through() {
  return passes_cm_through;
}

bool ThisProcess::is_child() {
  return child;
}

void ThisProcess::say(const std::string& text) {
  std::fprintf(stderr, "rdmove-shadow: %s[%d]: %s\n", program_invocation_short_name,
               static_cast<int>(getpid()), text.c_str());
}

void ThisProcess::unshadowed(const char* device, const std::string& why) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) say(std::string(device) + " is not shadowed: " + why);
}

}  // namespace rdmove::shadow
