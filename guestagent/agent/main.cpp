// rdmove-agent: the guest's daemon. See docs/agent-protocol.md.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <CLI/CLI.hpp>

#include <boost/asio/signal_set.hpp>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>

#include "guestagent/agent/address_monitor.hpp"
#include "guestagent/agent/application_hub.hpp"
#include "guestagent/agent/asio_timers.hpp"
#include "guestagent/agent/dhcp/address_table.hpp"
#include "guestagent/agent/dhcp/confirmations.hpp"
#include "guestagent/agent/host_service.hpp"
#include "guestagent/agent/link_monitor.hpp"
#include "guestagent/agent/packet_announcer.hpp"
#include "guestagent/agent/proc_scan.hpp"
#include "guestagent/agent/rdma_netlink.hpp"
#include "guestagent/agent/rtnetlink.hpp"
#include "guestagent/agent/shadow_relay.hpp"
#include "guestagent/agent/verbs_gid_events.hpp"

namespace {

using namespace rdmove::agent;

struct Options {
  std::string port = "/dev/virtio-ports/org.rdmove.agent.0";
  std::string socket = "/run/rdmove/agent.sock";
  std::string shadow_socket = "/run/rdmove/shadow.sock";
  std::uint16_t shadow_port = ShadowRelay::default_port;
  std::string state_dir = "/run/rdmove";
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string root = "/";
};

std::string boot_id(const std::string& proc) {
  std::ifstream file(std::filesystem::path(proc) / "sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string new_instance() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// A move is no time to wait for a disk, which may be behind the very NIC that is gone: code and data are read
// in now, and stay. For the same reason symbols are bound at the start (CMakeLists.txt).
void stay_in_memory() {
  if (::mlockall(MCL_CURRENT) != 0) spdlog::info("the agent may be paged out: {}", std::strerror(errno));
}

void run(const Options& options) {
  boost::asio::io_context io(1);
  boost::asio::signal_set stop(io, SIGTERM, SIGINT);
  stop.async_wait([&](const boost::system::error_code&, int) { io.stop(); });

  std::filesystem::create_directories(options.state_dir);
  const auto boot = boot_id(options.proc);
  const RdmaSysfs sysfs(options.sys);
  Rtnetlink network(options.sys);
  RdmaNetlink rdma(io, sysfs);
  ProcScan processes(options.proc, sysfs);
  AsioTimers timers(io);
  ApplicationHub applications(io, timers, options.socket);
  const ShadowRelay shadows(io, options.shadow_socket, options.shadow_port);
  PacketAnnouncer announcer;
  CaptureStore store(options.state_dir, boot);
  ManagerFiles managers(options.root);
  AddressMonitor address_events(io);
  dhcp::AddressTable leased_addresses;
  dhcp::Confirmations leases(io, timers, leased_addresses, options.root, options.proc);
  RdmaSettingFiles rdma_settings(options.sys);
  VerbsGidEvents gid_events(io);
  Services services{network, rdma,     processes,      applications, announcer,     timers,
                    store,   managers, address_events, leases,       rdma_settings, gid_events};

  HostService host(io, open_host_port(options.port, options.sys), services, sysfs,
                   {rdmove::protocol::protocol_version, "rdmove " RDMOVE_VERSION, boot, new_instance()});
  LinkMonitor links(io, network,
                    {[&] { host.links_changed(); }, [&](const LinkInfo& link) { host.device_arrived(link); },
                     [&](const LinkInfo& link) { host.device_removed(link); }});
  stay_in_memory();
  host.start();
  spdlog::info("rdmove-agent {} listens on {} and {}", RDMOVE_VERSION, options.port, options.socket);
  io.run();
  spdlog::info("rdmove-agent stops");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "rdmove's agent: prepares this guest's RDMA devices for a migration and brings them back after it."};
  app.set_version_flag("--version", "rdmove-agent " RDMOVE_VERSION);
  app.add_option("--port", options.port, "virtio-serial port to the host")->capture_default_str();
  app.add_option("--socket", options.socket, "unix socket for applications")->capture_default_str();
  app.add_option("--shadow-socket", options.shadow_socket, "unix socket for programs under rdmove-shadow")
      ->capture_default_str();
  app.add_option("--shadow-port", options.shadow_port,
                 "TCP port at which shadows of other guests ask those in this one")
      ->capture_default_str();
  app.add_option("--state-dir", options.state_dir, "where captured network state is kept")
      ->capture_default_str();
  app.add_option("--proc", options.proc, "where proc is mounted (for tests)")->capture_default_str();
  app.add_option("--sys", options.sys, "where sysfs is mounted (for tests)")->capture_default_str();
  app.add_option("--root", options.root, "where /etc, /run and /var are (for tests)")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  spdlog::set_default_logger(spdlog::stderr_logger_st("agent"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  std::signal(SIGPIPE, SIG_IGN);
  try {
    run(options);
  } catch (const std::exception& error) {
    spdlog::critical("{}", error.what());
    return 1;
  }
  return 0;
}
