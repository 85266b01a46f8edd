// The lab (migration-tests/lab), said in the words of a hosts file. Namespaces are entered directly: a fault
// must not be late because of the lab's own shell.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "migration-tests/harness/site.hpp"

namespace rdmove::harness {
namespace {

using std::chrono::seconds;

Script here(const std::string& text) {
  return {{"sh", "-c"}, text};
}

Host hostOf(const nlohmann::json& entry, const std::string& tool, const std::string& build) {
  Host host;
  host.name = entry.at("name");
  host.address = entry.at("address");
  const auto holder = fmt::format("{}", entry.at("holder").get<int>());
  host.prefix = {"nsenter", "-t", holder, "-n", "-m", "-u", "--", "sh", "-c"};
  host.rdmove = build + "/coordinator/rdmove";
  const auto lab = [&](const char* what, const char* verb) {
    return here(fmt::format("exec '{}' {} {} {}", tool, what, verb, host.name));
  };
  host.start_daemon = lab("daemon", "start");
  host.stop_daemon = lab("daemon", "stop");
  host.start_libvirtd = lab("libvirtd", "start");
  host.stop_libvirtd = host.on(
      "pid=$(cat /run/libvirt/libvirtd.pid) && kill $pid && "
      "while grep -q '^State:.[^ZX]' /proc/$pid/status 2>/dev/null; do sleep 0.05; done");
  host.libvirtd_pid = "cat /run/libvirt/libvirtd.pid";
  // What a power cut leaves of a host: nothing that runs, no link. The lab knows all of its processes.
  host.power_off = here(fmt::format(
      "'{0}' link cut {1}; '{0}' daemon kill {1}; '{0}' libvirtd kill {1}; "
      "nsenter -t {2} -m -- sh -c 'kill -9 $(cat /run/libvirt/qemu/*.pid); rm -rf /run/libvirt/qemu/*.pid "
      "/run/libvirt/qemu/*.xml'; true",
      tool, host.name, holder));
  host.power_on = here(fmt::format(
      "'{0}' link heal {1} && '{0}' libvirtd start {1} && '{0}' daemon start {1}", tool, host.name));
  return host;
}

Guest guestOf(const nlohmann::json& entry, const std::string& tool) {
  Guest guest;
  guest.name = entry.at("name");
  guest.address = entry.at("fabric_address");
  guest.prefix = {tool, "guest", guest.name, "--timeout", "25", "--"};
  guest.start_agent = "setsid rdmove-agent >>/var/log/rdmove-agent.log 2>&1 </dev/null &";
  guest.stop_agent = "kill $(pidof rdmove-agent)";
  return guest;
}

}  // namespace

Result<Site> labSite(const std::string& tool, const std::string& build) {
  const Ended status = run(Words{tool, "status", "--json"}, seconds(30));
  const auto parsed = nlohmann::json::parse(status.output, nullptr, false);
  if (!status.ok() || parsed.is_discarded() || !parsed.value("complete", false))
    return failure(
        ErrorCode::kUnavailable, "use the lab", "it is not up",
        fmt::format("Start it with '{} up --hosts hosta,hostb,hostc --vm vm1@hosta --vm peer@hostc'.", tool));
  Site site;
  site.lab = true;
  for (const auto& entry : parsed.at("hosts")) {
    if (site.hosts.size() < 2) site.hosts.push_back(hostOf(entry, tool, build));
  }
  for (const auto& entry : parsed.at("guests")) site.guests.emplace(entry.at("name"), guestOf(entry, tool));
  std::string again = fmt::format("L='{}'; ", tool);
  for (const Host& host : site.hosts)
    again += fmt::format("$L link heal {0}; $L libvirtd start {0}; $L daemon kill {0}; ", host.name);
  for (const Host& host : site.hosts) again += fmt::format("$L vm destroy @VM@@{}; ", host.name);
  // A migration that nobody will end is of the VM that is no more.
  for (const Host& host : site.hosts)
    again +=
        fmt::format("rm -f /run/rdmove-lab/$RDMOVE_LAB/host/{0}/var/lib/rdmove/journal.db*; ", host.name);
  again += fmt::format("$L vm start @VM@@{} && ", site.hosts.front().name);
  for (const Host& host : site.hosts) again += fmt::format("$L daemon start {} && ", host.name);
  site.remake = {"sh", "-c", again + "true"};
  return site;
}

}  // namespace rdmove::harness
