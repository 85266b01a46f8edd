// /etc/rdmove/rdmoved.toml, read once at start. Every key, default and unit: docs/configuration.md.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "coordinator/base/result.hpp"
#include "coordinator/base/types.hpp"

namespace rdmove {

struct PoolConfig {
  PoolName name;
  enum class Kind { kBridge, kSriov } kind = Kind::kBridge;
  std::string bridge;            ///< bridge pools
  int slots = 64;                ///< bridge pools: how many devices at most
  std::vector<std::string> pfs;  ///< sriov pools: netdev names or PCI addresses of PFs
  bool soft_roce = false;        ///< sriov pools: Ethernet VFs without RDMA; the guest makes its RDMA device
  /// This host's port on the pool's InfiniBand subnet, whose administration is asked after a move. Empty: it is not.
  std::string subnet_adapter{};
  int subnet_port{1};
};

struct PartnerConfig {
  HostName name;
  std::string address;        ///< host:port of its partner API
  std::string san;            ///< DNS name in its certificate
  std::string libvirt_uri;    ///< as this host's libvirtd reaches it: "qemu+tls://hostb/system"
  std::string migration_uri;  ///< may be empty
  bool stream_tls = false;
  std::vector<PoolName> pools;  ///< which of our pools it may use
};

struct TlsConfig {
  std::string ca = "/etc/pki/CA/cacert.pem";
  std::string server_cert = "/etc/pki/libvirt/servercert.pem";
  std::string server_key = "/etc/pki/libvirt/private/serverkey.pem";
  std::string client_cert = "/etc/pki/libvirt/clientcert.pem";
  std::string client_key = "/etc/pki/libvirt/private/clientkey.pem";
};

struct Timeouts {
  std::chrono::milliseconds agent{5000};           ///< an agent's answer, beyond what its own deadline asks
  std::chrono::milliseconds prepare{2000};         ///< applications let go within
  std::chrono::milliseconds unplug{10000};         ///< removed event; then Degraded on the source
  std::chrono::milliseconds attach_budget{60000};  ///< arrival: attach retries before Degraded
  std::chrono::milliseconds restore{20000};
  std::chrono::milliseconds partner{5000};  ///< one call to the partner
  std::chrono::milliseconds lease_hold{120000};
};

/// All of them, by their keys in [timeouts].
struct TimeoutKey {
  const char* key;
  std::chrono::milliseconds Timeouts::*value;
};
inline constexpr TimeoutKey kTimeoutKeys[] = {
    {"agent_ms", &Timeouts::agent},       {"prepare_ms", &Timeouts::prepare},
    {"unplug_ms", &Timeouts::unplug},     {"attach_budget_ms", &Timeouts::attach_budget},
    {"restore_ms", &Timeouts::restore},   {"partner_ms", &Timeouts::partner},
    {"lease_hold_ms", &Timeouts::lease_hold}};

struct Config {
  HostName host;
  std::string state_dir = "/var/lib/rdmove";
  std::string socket = "/run/rdmove/rdmoved.sock";
  std::string socket_group = "rdmove";
  std::string hook_socket = "/run/rdmove/hook.sock";  ///< where libvirt's hook asks; it knows no other
  std::string log_file;  ///< empty: standard error
  std::string log_level = "info";
  std::string libvirt_uri = "qemu:///system";
  std::string partner_listen;  ///< "address:port"; empty: no partner API
  bool insecure = false;       ///< partner API without TLS; warned of at start
  std::string metrics_listen{};  ///< "address:port" for Prometheus; empty: none
  TlsConfig tls;
  Timeouts timeouts;
  std::map<PoolName, PoolConfig> pools;
  std::map<HostName, PartnerConfig> partners;
};

/// Errors name file, line and key. Unknown keys are errors.
Result<Config> readConfig(const std::string& path);
Result<Config> parseConfig(const std::string& text, const std::string& file_name_for_errors);

}  // namespace rdmove
