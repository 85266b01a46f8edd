// This process' shadow: made when a program first opens a device that can be shadowed, or an event channel of
// RDMA CM, and never ended, since threads of the program may use it until the last moment. Any thread.
#pragma once

#include <string>

#include "shadowdev/cm/shadow_cm.hpp"
#include "shadowdev/interpose/stable_devices.hpp"
#include "shadowdev/process/control_thread.hpp"
#include "shadowdev/verbs/calls.hpp"
#include "shadowdev/verbs/libibverbs.hpp"

namespace rdmove::shadow {

class ThisProcess {
 public:
  static ThisProcess& get();
  static const VerbsCalls& real() { return real_; }
  static void set_real(const char* name, const char* version, void* function);
  static const CmCalls& real_cm() { return real_cm_; }
  static void set_real_cm(const char* name, const char* version, void* function);

  ShadowVerbs& verbs() { return verbs_; }
  ControlThread& control() { return control_; }
  RelayLink& link() { return link_; }
  ShadowCm& cm() { return cm_; }
  StableDevices& devices_of_cm() { return devices_of_cm_; }

  /// From here on the devices that librdmacm opens are passed through; false: it has one already that is not.
  static bool pass_rdma_cm_through();
  static bool passes_rdma_cm_through();

  /// Says once why a device that was opened is not shadowed.
  static void unshadowed(const char* device, const std::string& why);
  static void say(const std::string& text);
  /// A forked child has none of the threads, and its parent's devices are not its own.
  static bool is_child();

 private:
  ThisProcess();
  static VerbsCalls real_;
  static CmCalls real_cm_;

  Libibverbs below_;
  RelayLink link_;
  ShadowVerbs verbs_;
  ShadowCm cm_;
  StableDevices devices_of_cm_;
  ControlThread control_;
};

}  // namespace rdmove::shadow
