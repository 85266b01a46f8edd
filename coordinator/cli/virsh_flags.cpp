#include "coordinator/cli/virsh_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rdmove::cli {
namespace {

struct Flag {
  std::string_view name;
  std::string_view why;
};

constexpr std::array kFlags = std::to_array<Flag>({
    // What every migration of ours is.
    {"--live", "rdmove does so by itself: every migration is live; leave it out"},
    {"--p2p",
     "rdmove does so by itself: libvirtd sends to libvirtd, so the transfer outlives this command; leave it "
     "out"},
    {"--persistent", "rdmove does so by itself for a VM that has a persistent definition; leave it out"},
    {"--undefinesource", "rdmove does so by itself for a VM that has a persistent definition; leave it out"},
    {"--change-protection", "libvirt does so by itself where both hosts can; leave it out"},
    {"--postcopy-after-precopy", "--postcopy does so by itself; give that"},
    {"--domain", "the VM is named without an option: rdmove migrate VM DEST"},
    {"--desturi", "the destination is a partner's name, without an option: rdmove migrate VM DEST"},
    // How the VM would go, or arrive.
    {"--offline", "a VM that does not run has no RDMA to bring back; move its definition with virsh"},
    {"--suspend",
     "the RDMA devices come back only in a VM that runs at the destination; suspend it there afterwards"},
    {"--unsafe", "libvirt's safety checks stay on, since a disk that two hosts write cannot be rolled back"},
    {"--abort-on-error", "an error of the VM's disks does not end a migration; 'rdmove cancel' does"},
    {"--tunnelled", "the memory goes from QEMU to QEMU; --tls encrypts it"},
    {"--direct", "only a transfer from libvirtd to libvirtd outlives this command"},
    {"--postcopy-resume", "rdmove cannot take up a post-copy transfer that broke; use virsh for it"},
    {"--timeout-suspend", "the end of --timeout rolls the migration back"},
    {"--timeout-postcopy",
     "the end of --timeout rolls the migration back; --postcopy switches after the first pass"},
    // What would change the VM under way.
    {"--dname", "a VM keeps its name, which both daemons go by"},
    {"--xml", "rdmove cannot yet join another's changes to the devices that it takes out and attaches"},
    {"--persistent-xml",
     "rdmove writes the persistent definition itself, with the destination's device in it"},
    {"--graphicsuri", "rdmove does not pass it on; libvirt tells clients of the VM's display where it goes"},
    // How the memory would be sent.
    {"--rdma-pin-all", "rdmove does not pin the VM's memory for the transfer"},
    {"--compressed",
     "rdmove has no choice of compression yet; --auto-converge and --postcopy help a transfer to end"},
    {"--comp-methods", "rdmove has no choice of compression yet"},
    {"--comp-mt-level", "rdmove has no choice of compression yet"},
    {"--comp-mt-threads", "rdmove has no choice of compression yet"},
    {"--comp-mt-dthreads", "rdmove has no choice of compression yet"},
    {"--comp-xbzrle-cache", "rdmove has no choice of compression yet"},
    {"--zerocopy", "rdmove does not lock the VM's memory for it"},
    {"--auto-converge-initial", "--auto-converge uses libvirt's own steps"},
    {"--auto-converge-increment", "--auto-converge uses libvirt's own steps"},
    {"--postcopy-bandwidth",
     "post-copy runs without a limit, since the VM waits for its pages; --bandwidth limits what is before "
     "it"},
    {"--listen-address",
     "the address comes from --migrateuri, or from the partner's migration_uri in rdmoved.toml"},
    {"--tls-destination", "the certificate must be for the host that the transfer goes to"},
    // Which disks would go, and how.
    {"--copy-storage-inc",
     "rdmove cannot check that both hosts hold the same base image; --copy-storage-all copies whole disks"},
    {"--copy-storage-synchronous-writes", "--copy-storage-all copies in libvirt's default way"},
    {"--migrate-disks", "--copy-storage-all copies every disk that is neither shareable nor read-only"},
    {"--disks-port", "libvirt chooses the port for the disks"},
    {"--disks-uri", "libvirt chooses where the disks go"},
});

}  // namespace

std::optional<std::string> virshFlagRefusal(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const auto* const flag = std::find_if(kFlags.begin(), kFlags.end(),
                                        [&](const Flag& candidate) { return candidate.name == name; });
  if (flag == kFlags.end()) return std::nullopt;
  return fmt::format("{}: {}", flag->name, flag->why);
}

std::vector<std::string_view> refusedVirshFlags() {
  std::vector<std::string_view> names;
  for (const Flag& flag : kFlags) names.push_back(flag.name);
  return names;
}

}  // namespace rdmove::cli
