// The guest's network configuration: find a device by MAC, capture all that hangs on it, put it back on its
// successor. Implemented by Rtnetlink; faked in tests. Loop thread only; no call waits for anything but the
// kernel's answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "guestagent/protocol/types.hpp"

namespace rdmove::agent {

using protocol::DeviceKind;
using protocol::MacAddress;
using protocol::Result;
using Bytes = std::vector<std::uint8_t>;

struct LinkInfo {
  int index = 0;
  std::string name;
  MacAddress mac;
  std::uint32_t mtu = 0;
  bool up = false;       // administratively
  bool carrier = false;  // and the lower layer is up
  std::string kind;      // "vlan", "veth"; empty for a real device
  int parent = 0;        // of a VLAN: the index of the device below
};

/// `message` is what the kernel said about it (rtnetlink's struct and attributes, without nlmsghdr), so that
/// flags, scope, peer, label, lifetimes, metrics survive without a list of them here. The same idea as `ip
/// addr save`.
struct CapturedItem {
  std::string text;  // for people, answers and log lines: "10.0.0.5/24", "default via 10.0.0.1"
  Bytes message;
  auto operator<=>(const CapturedItem&) const = default;
};

struct VlanTag {
  std::uint16_t id = 0;
  std::uint16_t protocol = 0x8100;
  std::uint32_t flags = 0;
  auto operator<=>(const VlanTag&) const = default;
};

struct CapturedLink {
  int index = 0;  // as the messages name it
  std::string netdev;
  MacAddress mac;
  std::uint32_t mtu = 0;
  bool up = false;
  std::vector<CapturedItem> addresses;
  std::vector<CapturedItem> routes;      // those that the kernel makes by itself are not here
  std::vector<CapturedItem> neighbours;  // permanent ones
  std::optional<VlanTag> vlan;           // set on children only
  std::vector<CapturedLink> children;    // VLANs on this device
  bool operator==(const CapturedLink&) const = default;
};

/// A link that was put back, and under which index it is now.
struct RestoredLink {
  int index = 0;
  std::string netdev;
  MacAddress mac;
  std::vector<std::string> addresses;
};

class NetworkState {
 public:
  virtual ~NetworkState() = default;

  /// Of several devices with one MAC (VLANs and failover masters share it) the real one.
  virtual std::optional<LinkInfo> find(const MacAddress& mac, DeviceKind kind) = 0;
  virtual std::vector<LinkInfo> links() = 0;
  virtual std::vector<std::string> addresses(int index) = 0;  // as text

  virtual Result<CapturedLink> capture(const LinkInfo& link) = 0;

  struct BroughtUp {
    std::vector<RestoredLink> links;  // the device first, then its VLANs
    std::vector<std::string> lost_addresses;
    std::vector<std::string> warnings;
  };
  /// Name, MTU, addresses (usable at once: no duplicate address detection), up, VLANs.
  virtual BroughtUp bring_up(const LinkInfo& link, const CapturedLink& captured) = 0;

  /// Routes and permanent neighbours. Returns what the kernel refused; may be called again. `links` is
  /// bring_up's.
  virtual std::vector<std::string> put_routes(const std::vector<RestoredLink>& links,
                                              const CapturedLink& captured) = 0;
};

}  // namespace rdmove::agent
