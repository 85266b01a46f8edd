// Is libvirt's hook of rdmove in place, and does the libvirt that runs now call it? libvirt looks for hooks
// at its start and at a reload, and says nothing about it (docs/hook.md). Any thread.
#pragma once

#include <string>

#include "coordinator/preflight/finding.hpp"

namespace rdmove {

struct HookFiles {
  std::string program = "/etc/libvirt/hooks/qemu.d/rdmove";
  std::string mark = "/run/rdmove/hook-called";
};

/// Codes: hook (it is called), no-hook and hook-not-called (warnings: rdmove's own migrations go without).
Finding checkHook(const HookFiles& files, const std::string& host);

}  // namespace rdmove
