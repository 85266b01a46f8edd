#include "migration-tests/subnet/topology.hpp"

#include <iomanip>
#include <sstream>

namespace rdmove::subnet {

std::string End::text() const {
  return '"' + node + "\"[" + std::to_string(port) + ']';
}

Topology& Topology::add_switch(const std::string& name, unsigned ports) {
  nodes_.push_back({name, true, ports, std::nullopt});
  return *this;
}

Topology& Topology::add_host(const std::string& name, std::optional<std::uint64_t> node_guid,
                             unsigned ports) {
  nodes_.push_back({name, false, ports, node_guid});
  return *this;
}

Topology& Topology::link(const End& one, const End& other) {
  links_[one] = other;
  links_[other] = one;
  return *this;
}

Topology Topology::star(const std::vector<std::string>& hosts) {
  Topology all;
  all.add_switch("SW1", static_cast<unsigned>(hosts.size()) + 4);
  unsigned port = 0;
  for (const std::string& host : hosts) {
    all.add_host(host);
    all.link({host, 1}, {"SW1", ++port});
  }
  return all;
}

std::string Topology::text() const {
  std::ostringstream out;
  for (const Node& node : nodes_) {
    if (node.guid)
      out << "caguid=0x" << std::hex << std::setw(16) << std::setfill('0') << *node.guid << std::dec << '\n';
    out << (node.is_switch ? "Switch " : "Hca ") << node.ports << " \"" << node.name << "\"\n";
    for (unsigned port = 1; port <= node.ports; ++port) {
      const auto cable = links_.find({node.name, port});
      if (cable != links_.end()) out << '[' << port << "] " << cable->second.text() << '\n';
    }
    // A name by which the console reaches this port's GUID.
    if (!node.is_switch) out << "@[1] \"" << node.name << "\"\n";
    out << '\n';
  }
  return out.str();
}

}  // namespace rdmove::subnet
