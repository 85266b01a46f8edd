#include "coordinator/cli/help_texts.hpp"

#include "coordinator/cli/exit_code.hpp"

namespace rdmove::cli {

std::string detailsOf(std::string_view command) {
  if (command == "rdmove") {
    return "A migration belongs to the daemons of both hosts. It goes on when this command is interrupted "
           "or\n"
           "loses its contact; 'rdmove watch ID' follows it again, 'rdmove cancel ID' rolls it back.\n"
           "\n"
           "'rdmove COMMAND --help' explains a command.\n"
           "\n"
           "Exit codes:\n" +
           exitCodeLines();
  }
  if (command == "migrate") {
    return "Follows the migration to its end. The last line says what happened and names the migration, and\n"
           "the exit code says the same ('rdmove --help' lists them). Ctrl-C ends only this command.\n"
           "\n"
           "With --dry-run: 0 it may start, 3 there is a reason against it.\n"
           "\n"
           "The options have virsh's names where virsh has them, but --timeout rolls back. Other options of\n"
           "'virsh migrate' are refused, each with the reason; --live, --p2p, --persistent and\n"
           "--undefinesource are what rdmove does by itself.\n"
           "\n"
           "Examples:\n"
           "  rdmove migrate vm1 hostb --dry-run\n"
           "  rdmove migrate vm1 hostb --verbose --bandwidth 500\n";
  }
  if (command == "evacuate") {
    return "Plans first, and prints the plan: each VM goes to a destination that has free VFs of its pools "
           "and free\n"
           "memory for it, and whose CPUs are least busy. Before each VM begins, the destinations are asked "
           "again; one\n"
           "that has filled up is left for another. VMs at the two ends of an RDMA connection wait for one "
           "another.\n"
           "A VM that cannot move stays as it is, the others go on, and the end says who stayed and why.\n"
           "\n"
           "An evacuation is journaled: it goes on when this command is interrupted, and after the daemon "
           "was\n"
           "restarted. 'rdmove watch', 'show', 'report' and 'cancel' take its id. Cancelled, it begins no "
           "more VMs, and\n"
           "those under way end. There is one at a time.\n"
           "\n"
           "Exits 0 when all have moved (or none was there), 3 when it could not begin, 4 when some stayed, "
           "5 when the\n"
           "migration of some is still being repaired. With --dry-run: 0 there is room for all, 3 some would "
           "stay.\n"
           "\n"
           "Examples:\n"
           "  rdmove evacuate --dry-run\n"
           "  rdmove evacuate hostb hostc --max-parallel 4 --per-fabric 2\n";
  }
  if (command == "prepare") {
    return "Does all of a migration up to the migration itself: VFs are reserved at DEST, applications in the guest\n"
           "let go, the device is unplugged. Then it returns, and another program may migrate the VM, as virsh\n"
           "does. DEST gives the VM its device by itself when it arrives. When no migration follows within --hold,\n"
           "or one fails, the VM gets its device back here. 'rdmove cancel ID' does so at once.\n"
           "\n"
           "Example:\n"
           "  rdmove prepare vm1 hostb --hold 5m &&\n"
           "  virsh migrate --live --p2p --persistent --undefinesource vm1 qemu+tls://hostb/system\n";
  }
  if (command == "watch") {
    return "With an ID, ends when the migration ends and exits as 'rdmove migrate' does; with an "
           "evacuation's, as\n"
           "'rdmove evacuate' does. Without one, shows\n"
           "every migration of this host until Ctrl-C, then exits 0.\n";
  }
  if (command == "timeline") {
    return "Times are milliseconds. Each host's and guest's bars are on its own clock: a bar that begins\n"
           "before 0 belongs to a clock that is behind the first host's.\n"
           "\n"
           "Example:\n"
           "  rdmove timeline vm1-20261130-0a1b2c --svg vm1.svg\n";
  }
  if (command == "report") {
    return "The page needs nothing but itself: the phases of both hosts and of the guest on one time axis, "
           "the time\n"
           "without RDMA, the transfer's rates, the plan, the guest's counters before and after, and each "
           "step.\n"
           "Of an evacuation: its VMs on one time axis, when each was without RDMA, and what became of "
           "each.\n"
           "\n"
           "Example:\n"
           "  rdmove report vm1-20261130-0a1b2c --html vm1.html\n";
  }
  if (command == "export") {
    return "JSON for a bug report: the journal's story of the migration, versions, settings, VFs, doctor's findings,\n"
           "the daemon's log about it, and the VM's RDMA devices and metadata as they are now. It has addresses, names\n"
           "of hosts and VMs, but no keys, no passwords and nothing else of the VM. Look through it before you hand it\n"
           "on. Do so on both hosts.\n"
           "\n"
           "Example:\n"
           "  rdmove export vm1-20261130-0a1b2c --output hosta.json\n";
  }
  if (command == "cancel") {
    return "Refused (exit 3) once the VM runs at the destination: there is no way back from there. Asks and\n"
           "returns; 'rdmove watch ID' shows how it ends. An evacuation begins no more VMs; those under way "
           "end.\n";
  }
  if (command == "resolve") {
    return "Without a word: says what stands still and which words would decide it, and changes nothing.\n"
           "A word about a host that answers is refused (exit 3). It is the operator's promise: a wrong one\n"
           "can make a VM run twice, or put one identity on two VFs.\n"
           "\n"
           "Examples:\n"
           "  rdmove resolve vm1-20261130-0a1b2c\n"
           "  rdmove resolve vm1-20261130-0a1b2c --destination-is-dead\n"
           "  rdmove resolve vm1 --source-is-dead\n";
  }
  if (command == "agent") {
    return "The queries: 'status' (devices, what it is prepared for), 'apps' (the applications that "
           "registered:\n"
           "connections up and in all, last blackout, messages sent again; a pid is the kernel's word, the "
           "rest\n"
           "theirs), 'counters' (of the RDMA devices, since they are there) and 'holdouts' (processes that "
           "hold\n"
           "an RDMA device open and have not said that they let go).\n"
           "\n"
           "Examples:\n"
           "  rdmove agent vm1 apps\n"
           "  rdmove agent vm1 counters --watch --interval 5\n";
  }
  if (command == "define") {
    return "Writes the rdma element of the VM's metadata, into the live and the persistent definition. It\n"
           "replaces what was there.\n"
           "\n"
           "The keys of --vf: alias (libvirt's user alias of the device), pool (the pool it belongs to, the "
           "same\n"
           "name on both hosts), model (shared-port, virtual-switch or roce), continuity (reconnect, park "
           "or\n"
           "carry), mac (default: as the device has it), vlan, node-guid, port-guid, pkeys (a table in its\n"
           "order, with '/' between), trust, spoof-check, link, min-rate, max-rate, vlan-priority and\n"
           "vlan-protocol.\n"
           "\n"
           "Examples:\n"
           "  rdmove define vm1 --vf alias=ua-rdma0,pool=fabric,model=roce --standby ua-net0\n"
           "  rdmove define vm2 --vf "
           "alias=ua-ib0,pool=ib,model=virtual-switch,port-guid=00:02:c9:03:00:0a:1b:2d\n";
  }
  if (command == "doctor") {
    return "Finds what would fail late. Changes nothing. Exits 3 if any finding is an error.\n";
  }
  return {};
}

}  // namespace rdmove::cli
