// Which of a device's addresses came by DHCP, and as whom the guest's client asked for them. Linux does not
// note where an address came from, so this goes by what clients leave behind, and says how sure it is:
//
//   dhclient  its lease file; the identifier is in it if the server repeats it, else it sends none
//   dhcpcd    its lease file (the server's answer); without an identifier in there it cannot be known
//   udhcpc    the process: it keeps no file
//   unknown   only a finite lifetime, which nothing but a DHCP client gives an IPv4 address
//
// Reads files only; what they say is bounded and may be wrong. Any thread.
#pragma once

#include <filesystem>

#include "guestagent/agent/dhcp/exchange.hpp"

namespace rdmove::agent::dhcp {

struct Lease {
  std::string netdev;
  int captured_index = 0;  // CapturedLink::index
  std::string address;     // "10.0.0.5/24", as captured
  std::string client;      // "dhclient"; "unknown"
  Bytes identifier;        // option 61; empty: none
  Identity identity = Identity::Assumed;
  bool operator==(const Lease&) const = default;
};

/// Of the link and its children. `root` is where /var/lib is, `proc` where proc is mounted.
std::vector<Lease> leases_on(const CapturedLink& link, const std::filesystem::path& root,
                             const std::filesystem::path& proc);

/// The last lease in a dhclient file that is for this interface and address: its identifier, which may be
/// empty.
std::optional<Bytes> dhclient_identifier(std::string_view file, const std::string& netdev,
                                         const std::string& address);

/// What this command line of udhcpc sends on `netdev`; none if it is of another program or interface.
std::optional<Bytes> udhcpc_identifier(const std::vector<std::string>& arguments, const std::string& netdev,
                                       const Bytes& hardware);

}  // namespace rdmove::agent::dhcp
