#include "migration-tests/harness/look.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "migration-tests/harness/journal_copy.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

/// A journal of a few MiB is read over ssh in less.
constexpr seconds kJournalCopy{30};
constexpr int kCopies = 10;

std::vector<VfView> vfsOf(const Host& host) {
  std::vector<VfView> vfs;
  const auto list =
      nlohmann::json::parse(text(host.on(host.rdmoveWords() + "vf list --json")), nullptr, false);
  if (!list.is_object()) return vfs;
  for (const auto& vf : list.value("vfs", nlohmann::json::array()))
    vfs.push_back({vf.value("name", ""), vf.value("state", ""), vf.value("domain", "")});
  return vfs;
}

/// What virsh says of the domain: state, whether it is persistent, live XML, definition; one command for all.
void askVirsh(const Host& host, const LookAt& at, HostView& view) {
  constexpr std::string_view kCut = "\n-- next --\n";
  const std::string said =
      text(host.on(fmt::format("v() {{ {0} \"$@\" 2>/dev/null; printf '\\n-- next --\\n'; }}; v domstate "
                               "'{1}'; v dominfo '{1}'; v dumpxml '{1}'; "
                               "v dumpxml --inactive '{1}'; echo end",
                               host.virsh(), at.vm)));
  std::vector<std::string> parts;
  for (std::size_t from = 0, to = 0; (to = said.find(kCut, from)) != std::string::npos;
       from = to + kCut.size())
    parts.push_back(said.substr(from, to - from));
  parts.resize(4);
  view.state = parts[0].substr(0, parts[0].find('\n'));
  if (view.state.empty()) return;
  view.persistent = parts[1].find("Persistent:     yes") != std::string::npos;
  view.live = devicesOf(parts[2], at.aliases);
  view.metadata = rdmaMetadata(parts[2]);
  if (view.persistent) view.defined = devicesOf(parts[3], at.aliases);
}

}  // namespace

std::string liveXml(const Host& host, const std::string& vm) {
  return text(host.on(host.virsh() + "dumpxml '" + vm + "'"));
}

std::string domainState(const Host& host, const std::string& vm) {
  return text(host.on(host.virsh() + "domstate '" + vm + "' 2>/dev/null"));
}

ConsoleMarks markConsoles(const Site& site, const std::string& console) {
  ConsoleMarks marks;
  if (console.empty()) return marks;
  for (const Host& host : site.hosts) {
    const std::string size = text(host.on("stat -c %s '" + console + "' 2>/dev/null"));
    marks[host.name] = size.empty() ? 0 : std::stoull(size);
  }
  return marks;
}

HostView look(const LookAt& at) {
  const Host& host = *at.host;
  HostView view;
  view.name = host.name;
  askVirsh(host, at, view);
  readJournal(host, at.uuid, view);
  view.vfs = vfsOf(host);
  if (!at.console.empty())
    view.ticks =
        ticksOf(text(host.on(fmt::format("tail -c +{} '{}' 2>/dev/null", at.console_from + 1, at.console))));
  return view;
}

GuestView lookInside(const Guest& guest, const Devices& devices) {
  GuestView view;
  // One line an interface and address: MAC and address. busybox's shell must do.
  const Ended said = run(
      guest.in("for n in /sys/class/net/*; do m=$(cat $n/address); ip -o addr show dev ${n##*/} | "
               "while read -r _ _ family address _; do echo \"address $m $family $address\"; done; done; "
               "grep -l ACTIVE /sys/class/infiniband/*/ports/*/state | while read -r p; do d=${p%/ports/*}; "
               "for a in $d/device/net/*/address /sys/class/net/$(cat $d/parent 2>/dev/null)/address; do "
               "[ -f $a ] && echo \"active $(cat $a)\"; done; done; echo end"));
  view.answers = said.ok() && said.output.find("end\n") != std::string::npos;
  std::istringstream in(said.output);
  for (std::string kind, mac, family, address; in >> kind >> mac;) {
    if (kind == "address") in >> family >> address;
    bool ours = false;
    for (const auto& [alias, device] : devices)
      ours = ours || device.identity.empty() || device.identity == mac;
    if (!ours) continue;
    if (kind == "active") view.rdma_active = true;
    // A link-local one comes when its duplicates have been looked for.
    if (kind == "address" && !address.starts_with("fe80:")) view.addresses.insert(mac + " " + address);
  }
  return view;
}

void readJournal(const Host& host, const std::string& uuid, HostView& view) {
  const std::filesystem::path folder = text({{"sh", "-c"}, "mktemp -d"});
  for (int copy = 0; copy < kCopies && !view.journal_read; ++copy) {
    const Ended packed = run(
        host.on("tar -C '" + host.state_dir + "' -cf - journal.db journal.db-wal 2>/dev/null"), kJournalCopy);
    std::ofstream(folder / "journal.tar", std::ios::binary) << packed.output;
    run(Words{"tar", "-C", folder.string(), "-xf", (folder / "journal.tar").string()}, kJournalCopy);
    if (const auto rows = readJournalCopy(folder, uuid)) {
      view.leases = rows->leases;
      view.unfinished = rows->unfinished;
      view.journal_read = true;
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace rdmove::harness
