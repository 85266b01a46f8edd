// What the guest does or does not do, and its devices.
#include <fmt/format.h>

#include "migration-tests/harness/faults.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

std::string said(const Script& script, const std::string& attempt) {
  const Ended ended = run(script, seconds(60));
  return ended.ok() ? "" : attempt + ": " + ended.output;
}

/// In the agent's place until the end of the fault. The host may be slow to read it, so it is written in the
/// background.
class Garbage : public Harm {
 public:
  explicit Garbage(const Cast& cast) : cast_(cast) {}
  std::string begin() override {
    return said(cast_.vm->in(R"(rm -f /run/failover-garbage.*; kill -9 $(pidof rdmove-agent)
setsid sh -c '
port=/dev/virtio-ports/org.rdmove.agent.0 tries=0
# Until the one that was killed has let go of it.
until ( : >$port ) 2>/dev/null || [ $tries -gt 100 ]; do tries=$((tries+1)); usleep 20000 || sleep 0.02; done
exec >$port
: >/run/failover-garbage.open
echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
head -c 100000 /dev/urandom
echo
echo "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":[[[["
' >/dev/null 2>&1 </dev/null &
echo $! >/run/failover-garbage.pid)"),
                "write garbage into the agent's port");
  }
  std::string end() override {
    // The port has one opener at a time: what still writes must go.
    return said(cast_.vm->in("kill -9 -- -$(cat /run/failover-garbage.pid) 2>/dev/null; " +
                             cast_.vm->start_agent + "\n[ -e /run/failover-garbage.open ]"),
                "start the agent again, after garbage was written");
  }

 private:
  const Cast& cast_;
};

/// ACPI tells a guest of q35 that a device is to leave; an interrupt that is off tells it nothing.
class UnplugIgnored : public Harm {
 public:
  explicit UnplugIgnored(const Cast& cast) : cast_(cast) {}
  std::string begin() override { return set("disable"); }
  std::string end() override { return set("enable"); }

 private:
  std::string set(const char* word) const {
    return said(cast_.vm->in(fmt::format("echo {} >/sys/firmware/acpi/interrupts/gpe01", word)),
                "switch hotplug in the guest");
  }
  const Cast& cast_;
};

/// Another device in the guest's slot: whatever kind the VF is of, libvirt refuses to attach it there.
class AttachFails : public Harm {
 public:
  explicit AttachFails(const Cast& cast) : cast_(cast) {}
  std::string begin() override { return device("attach-device"); }
  std::string end() override { return device("detach-device"); }

 private:
  std::string device(const char* verb) const {
    const std::string& at = cast_.guest_address;  // 0000:06:00.0
    const std::string xml = fmt::format(
        "<rng model=\"virtio\"><backend model=\"random\">/dev/urandom</backend><alias name=\"ua-failover\"/>"
        "<address type=\"pci\" domain=\"0x{}\" bus=\"0x{}\" slot=\"0x{}\" function=\"0x{}\"/></rng>",
        at.substr(0, 4), at.substr(5, 2), at.substr(8, 2), at.substr(11));
    const Host& host = *cast_.destination;
    return said(
        host.on(fmt::format("f=$(mktemp) && echo '{}' >$f && {}{} {} $f --live; s=$?; rm -f $f; exit $s", xml,
                            host.virsh(), verb, cast_.vm_name)),
        verb);
  }
  const Cast& cast_;
};

class DeviceVanishes : public Harm {
 public:
  DeviceVanishes(const Fault& fault, const Cast& cast) : host_(cast.host(fault.side)), cast_(cast) {}
  std::string begin() override {
    return said(host_.on(fmt::format("{}detach-device-alias {} {} --live", host_.virsh(), cast_.vm_name,
                                     cast_.alias)),
                "detach the device");
  }

 private:
  const Host& host_;
  const Cast& cast_;
};

}  // namespace

std::unique_ptr<Harm> guestHarm(const Fault& fault, const Cast& cast) {
  switch (fault.kind) {
    case FaultKind::kGarbage:
      return std::make_unique<Garbage>(cast);
    case FaultKind::kUnplugIgnored:
      return std::make_unique<UnplugIgnored>(cast);
    case FaultKind::kAttachFails:
      return std::make_unique<AttachFails>(cast);
    default:
      return std::make_unique<DeviceVanishes>(fault, cast);
  }
}

}  // namespace rdmove::harness
