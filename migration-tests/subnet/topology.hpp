// An InfiniBand fabric as ibsim's file describes it: switches, hosts with one adapter each, cables. Plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmove::subnet {

/// One end of a cable.
struct End {
  std::string node;
  unsigned port = 1;
  auto operator<=>(const End&) const = default;
  /// As ibsim's console and file have it: "vm1"[1]
  [[nodiscard]] std::string text() const;
};

class Topology {
 public:
  /// Ports: 1 to 255. Names are unique; letters, digits and dashes.
  Topology& add_switch(const std::string& name, unsigned ports);
  /// An adapter. Its port GUIDs are the node's GUID plus the port number. Without a GUID ibsim gives one.
  Topology& add_host(const std::string& name, std::optional<std::uint64_t> node_guid = std::nullopt,
                     unsigned ports = 2);
  Topology& link(const End& one, const End& other);

  /// One switch "SW1", and port 1 of each host at its ports 1, 2, 3...
  static Topology star(const std::vector<std::string>& hosts);
  [[nodiscard]] std::string text() const;

 private:
  struct Node {
    std::string name;
    bool is_switch = false;
    unsigned ports = 0;
    std::optional<std::uint64_t> guid;
  };
  std::vector<Node> nodes_;
  std::map<End, End> links_;  // both ways
};

}  // namespace rdmove::subnet
