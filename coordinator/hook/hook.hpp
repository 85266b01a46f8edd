// libvirt's hook of rdmove, without main(): what it is called with, and how it ends. It never calls libvirt
// (that would wait for ever) and starts no process. What it says and when: docs/hook.md. One thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rdmove {

struct HookPlaces {
  std::string socket = "/run/rdmove/hook.sock";
  std::string mark = "/run/rdmove/hook-called";
  /// A daemon that is being restarted gets so long to be there again.
  std::chrono::milliseconds restart{2000};
  std::chrono::milliseconds answer{3000};
  /// Libvirt writes the XML before it waits; who is silent is not libvirt.
  std::chrono::milliseconds input{10000};
  /// Whose calls are marked, by the names of their processes.
  std::vector<std::string> callers = {"libvirtd", "virtqemud"};
};

struct HookEnd {
  int status = 0;
  std::string line;  ///< for standard error: one line, since libvirt puts it into its own error
};

/// `words` as main() has them, the program's name first; `input` is the descriptor of libvirt's XML.
HookEnd runHook(const std::vector<std::string>& words, int input, const HookPlaces& places);

}  // namespace rdmove
