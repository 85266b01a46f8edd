#include "coordinator/service/daemon.hpp"

#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "coordinator/agentlink/libvirt_agent_link.hpp"
#include "coordinator/evacuation/evacuations.hpp"
#include "coordinator/fabric/fabric.hpp"
#include "coordinator/fabric/subnet/mad_subnet.hpp"
#include "coordinator/hypervisor/libvirt_hypervisor.hpp"
#include "coordinator/journal/sqlite_journal.hpp"
#include "coordinator/service/coordinator.hpp"
#include "coordinator/service/hook_socket.hpp"
#include "coordinator/service/local_service.hpp"
#include "coordinator/service/local_socket.hpp"
#include "coordinator/service/metrics.hpp"
#include "coordinator/service/on_loop.hpp"
#include "coordinator/service/partner_client.hpp"
#include "coordinator/service/partner_service.hpp"
#include "coordinator/service/tls.hpp"

namespace rdmove {
namespace {

/// Migrate calls block a worker each for a whole transfer; this many run at once before steps wait for one
/// another.
constexpr std::size_t kWorkers = 32;
constexpr std::chrono::milliseconds kStopGrace{1000};

/// libvirt may speak before the coordinator is there: until then its events are dropped, and recovery looks
/// itself.
class Relay : public HypervisorListener {
 public:
  void to(HypervisorListener* target) { target_.store(target); }
  void onLifecycle(const DomainUuid& u, Lifecycle e, LifecycleDetail d) override {
    if (auto* t = target_.load()) t->onLifecycle(u, e, d);
  }
  void onDeviceRemoved(const DomainUuid& u, const DeviceAlias& a) override {
    if (auto* t = target_.load()) t->onDeviceRemoved(u, a);
  }
  void onDeviceRemovalFailed(const DomainUuid& u, const DeviceAlias& a) override {
    if (auto* t = target_.load()) t->onDeviceRemovalFailed(u, a);
  }
  void onMigrationIteration(const DomainUuid& u, int i) override {
    if (auto* t = target_.load()) t->onMigrationIteration(u, i);
  }
  void onJobCompleted(const DomainUuid& u) override {
    if (auto* t = target_.load()) t->onJobCompleted(u);
  }
  void onConnection(bool connected) override {
    if (auto* t = target_.load()) t->onConnection(connected);
  }

 private:
  std::atomic<HypervisorListener*> target_{nullptr};
};

/// RDMOVE_STOP_AT="departure.Unplugging" stops this process (SIGSTOP), once, when that phase is journaled and
/// nothing of it is done: how tests hit a window that is otherwise microseconds wide (docs/testing.md).
std::function<void(Role, const std::string&)> stopWhereTestsAsk() {
  const char* text = std::getenv("RDMOVE_STOP_AT");
  return [wanted = std::string(text != nullptr ? text : "")](Role role, const std::string& phase) mutable {
    if (wanted.empty() || wanted != std::string(toString(role)) + "." + phase) return;
    wanted.clear();
    spdlog::warn("stopping at {} as RDMOVE_STOP_AT asks", phase);
    kill(getpid(), SIGSTOP);
  };
}

std::string randomInstance() {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string id;
  std::getline(file, id);
  return id;
}

Result<std::unique_ptr<grpc::Server>> servePartners(const Config& config, PartnerService& service) {
  if (config.partner_listen.empty()) return std::unique_ptr<grpc::Server>();
  const auto credentials = serverCredentials(config);
  if (!credentials) return tl::unexpected(credentials.error());
  if (config.insecure)
    spdlog::warn("insecure = true: the partner API has no TLS, whoever reaches it is believed");
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config.partner_listen, *credentials, &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A source that lost power is noticed, or its stream would renew its lease for ever.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.SetMaxReceiveMessageSize(4 << 20);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server || port == 0) {
    return failure(ErrorCode::kConflict, "listen on " + config.partner_listen,
                   "the address is not ours or in use",
                   "Set [partner_api] listen to a free address of this host.");
  }
  return server;
}

Result<HostCounts> hostCounts(boost::asio::io_context& loop, Journal& journal, const AgentDesk& agents) {
  return onLoop(loop, [&journal, &agents]() -> Result<HostCounts> {
    HostCounts counts;
    const auto leases = journal.leases();
    const auto unfinished = journal.unfinished();
    if (!leases || !unfinished) return tl::unexpected(leases ? unfinished.error() : leases.error());
    for (const LeaseRecord& lease : *leases) ++counts.leases[lease.pool.str()];
    for (const MigrationRecord& record : *unfinished)
      ++counts.unfinished[{std::string(toString(record.role)), std::string(toString(record.outcome))}];
    counts.agents = agents.open();
    return counts;
  });
}

void sayWhatGoesOn(const Coordinator& coordinator) {
  for (const MigrationRecord& record : coordinator.running()) {
    spdlog::warn(
        "migration={} phase={} role={} goes on when the daemon is started again; libvirt's transfer runs on",
        record.id.str(), record.phase, toString(record.role));
  }
}

/// Opened for each look: a port that is down now may be up then.
SubnetOpener subnetsOf(const Config& config) {
  return [&config](const PoolName& name) -> std::optional<Result<std::unique_ptr<Subnet>>> {
    const auto pool = config.pools.find(name);
    if (pool == config.pools.end() || pool->second.subnet_adapter.empty()) return std::nullopt;
    MadSubnetOptions options;
    options.adapter = pool->second.subnet_adapter;
    options.port = pool->second.subnet_port;
    return openSubnet(options);
  };
}

}  // namespace

Result<void> runDaemon(const Config& config) {
  std::signal(SIGPIPE, SIG_IGN);
  SystemClock clock;
  std::error_code ignored;
  std::filesystem::create_directories(config.state_dir, ignored);
  auto journal = openJournal(std::filesystem::path(config.state_dir) / "journal.db", clock, config.host);
  if (!journal) return tl::unexpected(journal.error());

  boost::asio::io_context loop(1);
  boost::asio::thread_pool workers(kWorkers);
  PoolWorkers session_workers(workers);
  LoopTimers timers(loop);
  Relay relay;
  LibvirtEventLoop events;
  auto hypervisor = makeLibvirtHypervisor(config.libvirt_uri, events, relay);
  if (!hypervisor) return tl::unexpected(hypervisor.error());
  const auto fabric = makeFabric(config);
  const std::string instance = randomInstance();
  auto partners = makePartners(config, instance, loop);
  if (!partners) return tl::unexpected(partners.error());
  AgentLinkLimits limits;
  limits.grace = config.timeouts.agent;
  const auto links = makeAgentLinks(**hypervisor, loop, workers, limits);
  AgentDesk agents(*links);
  Bulletin bulletin;
  Services services{
      loop,       session_workers, timers, **hypervisor, *fabric,           **journal,          agents,
      **partners, bulletin,        clock,  config,       subnetsOf(config), stopWhereTestsAsk()};
  Examiner examiner(loop, **hypervisor, *fabric, **partners, agents, config);
  Coordinator coordinator(services, examiner);
  Evacuations evacuations(
      services, [&coordinator](const Plan& plan) { return coordinator.depart(plan); },
      [&coordinator] { return coordinator.running(); });

  // For the log alone: whoever needs to know what is looks at it.
  const auto watch = watchVfs(*fabric, [](const std::string& change) { spdlog::info("vfs: {}", change); });
  if (!watch) spdlog::warn("{}", watch.error().sentence());

  relay.to(&coordinator);
  if (auto recovered = coordinator.recover(); !recovered) return recovered;
  if (auto recovered = evacuations.recover(); !recovered) return recovered;

  PartnerService partner_service(services, coordinator, examiner, instance);
  auto partner_server = servePartners(config, partner_service);
  if (!partner_server) return tl::unexpected(partner_server.error());
  LocalService local_service(services, coordinator, evacuations, examiner);
  const auto local_server = grpc::ServerBuilder().RegisterService(&local_service).BuildAndStart();
  LocalSocket socket(loop, *local_server);
  if (auto opened = socket.open(config.socket, config.socket_group); !opened) {
    // A partner's call may already wait for the loop, which will not run: no destructor waits for that.
    spdlog::critical("{}", opened.error().sentence());
    std::fprintf(stderr, "rdmoved: %s\n", opened.error().sentence().c_str());
    std::_Exit(1);
  }

  HookSocket hook_socket(loop, [&coordinator](const DomainUuid& uuid, const std::string& name) {
    return coordinator.admit(uuid, name);
  });
  // Without it rdmove's own migrations go on; VMs that others bring are refused meanwhile, and doctor says
  // so.
  if (auto opened = hook_socket.open(config.hook_socket); !opened)
    spdlog::error("{}", opened.error().sentence());

  Metrics metrics(bulletin, clock, [&] { return hostCounts(loop, **journal, agents); });
  std::unique_ptr<MetricsServer> metrics_server;
  if (!config.metrics_listen.empty()) {
    auto opened = MetricsServer::open(config.metrics_listen, metrics);
    if (!opened) spdlog::error("{}", opened.error().sentence());  // no reason to move no VMs
    if (opened) metrics_server = std::move(*opened);
  }

  boost::asio::signal_set signals(loop, SIGTERM, SIGINT);
  std::thread stopper;
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    spdlog::info("stopping on signal {}", signal);
    sd_notify(0, "STOPPING=1");
    sayWhatGoesOn(coordinator);
    socket.close();
    hook_socket.close();
    relay.to(nullptr);
    // The calls that the servers wait for need the loop, so they are ended beside it.
    stopper = std::thread([&] {
      const auto deadline = std::chrono::system_clock::now() + kStopGrace;
      local_server->Shutdown(deadline);
      if (*partner_server) (*partner_server)->Shutdown(deadline);
      loop.stop();
    });
  });

  spdlog::info("rdmoved {} of {} is ready: {}", RDMOVE_VERSION, config.host.str(), config.socket);
  sd_notify(0, "READY=1");
  const auto work = boost::asio::make_work_guard(loop);
  loop.run();
  stopper.join();
  journal->reset();  // everything that was said is on the disk
  spdlog::info("stopped");
  spdlog::shutdown();
  // A worker may sit in libvirt's migrate call, which does not end because we do: no destructor waits for it.
  std::_Exit(0);
}

}  // namespace rdmove
