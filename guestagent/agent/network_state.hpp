// The guest's network configuration: find a device by MAC or port GUID, capture all that hangs on it, put it
// back on its successor. Implemented by Rtnetlink; faked in tests. Loop thread only; no call waits for
// anything but the kernel's answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/protocol/types.hpp"

namespace rdmove::agent {

using protocol::DeviceIdentity;
using protocol::DeviceKind;
using protocol::MacAddress;
using protocol::Result;
using Bytes = std::vector<std::uint8_t>;

/// One entry of a VLAN's map between a packet's priority in the kernel and the tag's priority (PCP, 0 to 7).
struct VlanPriority {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  auto operator<=>(const VlanPriority&) const = default;
};

/// The egress map is what puts RDMA into the class that priority flow control keeps lossless: without it
/// every packet leaves with priority 0.
struct VlanTag {
  std::uint16_t id = 0;
  std::uint16_t protocol = 0x8100;
  std::uint32_t flags = 0;
  std::vector<VlanPriority> ingress{};  // from the tag's priority
  std::vector<VlanPriority> egress{};   // to the tag's priority
  auto operator<=>(const VlanTag&) const = default;
};

/// Of an IPoIB interface, as its driver's link message says it.
struct IpoibSettings {
  std::uint16_t pkey = 0;
  std::uint16_t mode = 0;  // 0 datagram, 1 connected
  std::uint16_t umcast = 0;
  auto operator<=>(const IpoibSettings&) const = default;
};

struct LinkInfo {
  int index = 0;
  std::string name;
  DeviceIdentity identity;  // a MAC of zeros if the interface has neither
  std::uint32_t mtu = 0;
  bool up = false;       // administratively
  bool carrier = false;  // and the lower layer is up
  std::string kind;      // "vlan", "veth", "ipoib"; empty for a real Ethernet device
  int parent = 0;        // of a VLAN or a P_Key child: the index of the device below
  Bytes address{};       // 6 bytes on Ethernet, 20 on InfiniBand
  Bytes broadcast{};     // likewise; on InfiniBand the P_Key is in it
  std::vector<std::string> altnames{};
  std::optional<VlanTag> vlan{};
  std::optional<IpoibSettings> ipoib{};
};

/// `message` is what the kernel said about it (rtnetlink's struct and attributes, without nlmsghdr), so that
/// flags, scope, peer, label, lifetimes, metrics survive without a list of them here. The same idea as `ip
/// addr save`.
struct CapturedItem {
  std::string text;  // for people, answers and log lines: "10.0.0.5/24", "default via 10.0.0.1"
  Bytes message;
  bool expires = false;  // an address with a finite lifetime
  auto operator<=>(const CapturedItem&) const = default;
};

struct CapturedLink {
  int index = 0;  // as the messages name it
  std::string netdev;
  DeviceIdentity identity;
  std::uint32_t mtu = 0;
  bool up = false;
  std::vector<CapturedItem> addresses;
  std::vector<CapturedItem> routes;      // those that the kernel makes by itself are not here
  std::vector<CapturedItem> neighbours;  // permanent and learnt ones
  std::optional<VlanTag> vlan;           // set on children only
  std::vector<CapturedLink> children;    // VLANs and P_Key interfaces on this device
  std::vector<CapturedItem> rules{};     // policy rules that name the interface
  std::vector<std::string> altnames{};
  std::optional<IpoibSettings> ipoib{};
  bool operator==(const CapturedLink&) const = default;
};

/// A link that was put back, and under which index it is now.
struct RestoredLink {
  int index = 0;
  std::string netdev;
  DeviceIdentity identity;
  std::vector<std::string> addresses;
  int captured_index = 0;  // CapturedLink::index of what it was
  Bytes address{};         // link layer, as in LinkInfo
  Bytes broadcast{};
};

class NetworkState {
 public:
  virtual ~NetworkState() = default;

  /// Of several devices with one MAC or GUID (children and failover masters share it) the real one.
  virtual std::optional<LinkInfo> find(const DeviceIdentity& identity, DeviceKind kind) = 0;
  virtual std::vector<LinkInfo> links() = 0;
  virtual std::vector<std::string> addresses(int index) = 0;  // as text

  virtual Result<CapturedLink> capture(const LinkInfo& link) = 0;

  struct BroughtUp {
    std::vector<RestoredLink> links;  // the device first, then its children
    std::vector<std::string> lost_addresses;
    std::vector<std::string> warnings;
  };
  /// Name, MTU, addresses (usable at once: no duplicate address detection), up, children.
  virtual BroughtUp bring_up(const LinkInfo& link, const CapturedLink& captured) = 0;

  /// Routes, neighbours and policy rules. Returns what the kernel refused; may be called again.
  /// `links` is bring_up's.
  virtual std::vector<std::string> put_routes(const std::vector<RestoredLink>& links,
                                              const CapturedLink& captured) = 0;
};

}  // namespace rdmove::agent
