// What goes wrong: begins and ends one fault on the hosts and in the guest of a scenario.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "migration-tests/harness/scenario.hpp"
#include "migration-tests/harness/site.hpp"

namespace rdmove::harness {

/// Who is who in one scenario.
struct Cast {
  const Site* site = nullptr;
  const Host* source = nullptr;
  const Host* destination = nullptr;
  const Guest* vm = nullptr;
  const Guest* peer = nullptr;
  std::string vm_name;
  std::string guest_address;               ///< where the VF sits in the guest: "0000:06:00.0"
  std::string alias;                       ///< of the VF
  std::function<void()> kill_command;      ///< `rdmove migrate`
  std::function<std::string()> migration;  ///< its ID; "" while it has none

  [[nodiscard]] const Host& host(Side side) const { return side == Side::kSource ? *source : *destination; }
};

/// One fault that has begun. `end` is called once; a fault whose harm is done has nothing to do there.
class Harm {
 public:
  virtual ~Harm() = default;
  /// "" or what went wrong.
  virtual std::string begin() = 0;
  virtual std::string end() { return ""; }
  /// What must be made ready before the migration is asked for.
  virtual std::string prepare() { return ""; }
  /// After the scenario, what prepare() did is taken back.
  virtual void clear() {}
};

std::unique_ptr<Harm> harmOf(const Fault& fault, const Cast& cast);

/// Why this fault can't be done here; "": it can.
std::string whyNot(const Fault& fault, const Site& site);

/// The daemon's pid, as a shell expression: rdmoved writes it into the lock of its journal.
std::string daemonPid(const Host& host);

/// Starts a host's daemon; it stops itself at `stop_at`, if that is not empty.
std::string startDaemon(const Host& host, const std::string& stop_at);

std::unique_ptr<Harm> networkHarm(const Fault& fault, const Cast& cast);
std::unique_ptr<Harm> journalHarm(const Fault& fault, const Cast& cast);
std::unique_ptr<Harm> guestHarm(const Fault& fault, const Cast& cast);

}  // namespace rdmove::harness
