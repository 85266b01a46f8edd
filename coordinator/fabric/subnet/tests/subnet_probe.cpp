// subnet_probe: Subnet and its logic as a program, for a test that runs it on a host of a simulated subnet
// (whose libibumad is preloaded, so a program of its own is needed). A command a line on standard input, an
// answer a line.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "coordinator/fabric/subnet/mad_subnet.hpp"
#include "coordinator/fabric/subnet/moved_port.hpp"

namespace {

using namespace rdmove;

struct Words {
  std::istringstream in;
  std::string word() {
    std::string out;
    in >> out;
    return out;
  }
  unsigned number() { return static_cast<unsigned>(std::stoul(word(), nullptr, 0)); }
  Lid lid() { return Lid(number()); }
  Gid gid() { return Gid::parse(word()).value_or(Gid()); }
  Guid guid() { return Guid::read(word()).value_or(Guid()); }
};

unsigned number(Lid lid) {
  return static_cast<unsigned>(lid);
}
template <class T, class Text>
std::string told(const Result<T>& result, Text text) {
  return result ? text(*result) : result.error().sentence();
}
template <class T, class Text>
std::string toldIfAny(const Result<std::optional<T>>& result, Text text) {
  return told(result,
              [&](const std::optional<T>& found) { return found ? text(*found) : std::string("none"); });
}

std::string node(const SubnetNode& node) {
  return fmt::format("lid {} port {}", number(node.lid), node.port_guid.str());
}
std::string cable(const Attachment& cable) {
  return fmt::format("lid {} port {}", number(cable.lid), cable.port);
}
std::string lid(Lid lid) {
  return fmt::format("lid {}", number(lid));
}
std::string done(const Result<void>& result) {
  return result ? "done" : result.error().sentence();
}

/// A probe remembers one port and one book between commands, as a migration does.
struct Memory {
  KnownPort port;
  LidBook book;
};

std::string answer(Subnet& subnet, Memory& memory, Words& words) {
  const std::string command = words.word();
  if (command == "path")
    return toldIfAny(subnet.path(words.gid()), [](const Path& path) { return lid(path.to); });
  if (command == "partition")
    return toldIfAny(subnet.path(words.gid()), [](const Path& path) { return path.pkey.str(); });
  if (command == "node") return toldIfAny(subnet.node(words.guid()), node);
  if (command == "ask") return told(subnet.ask(words.lid()), node);
  if (command == "cable") return toldIfAny(subnet.attachment(words.lid(), 1), cable);
  if (command == "join") {
    const Gid group = words.gid();
    return done(subnet.join(group, words.gid(), JoinState::Full));
  }
  if (command == "subscribe") return done(subnet.subscribe(words.number(), true));
  if (command == "set-alias") {
    const Lid at = words.lid();
    const unsigned row = words.number();
    return told(subnet.setAliasGuid(at, row, words.guid()), [](Guid guid) { return guid.str(); });
  }
  if (command == "remember") {
    const auto port = lookUpPort(subnet, words.gid());
    if (port) memory.port = *port;
    return told(port, [](const KnownPort& known) { return lid(known.lid); });
  }
  if (command == "await-switch") {
    const auto patience = patienceOf(std::chrono::milliseconds(words.number()));
    return told(awaitVirtualSwitch(subnet, memory.port, *patience), lid);
  }
  if (command == "await-shared") {
    const auto patience = patienceOf(std::chrono::milliseconds(words.number()));
    const Gid gid = words.gid();
    return told(awaitSharedPort(subnet, gid, words.lid(), *patience), lid);
  }
  if (command == "note-lids") {
    std::vector<Guid> ports;
    for (std::string word = words.word(); !word.empty(); word = words.word())
      ports.push_back(*Guid::read(word));
    return done(memory.book.note(subnet, ports));
  }
  if (command == "changed-lids") {
    return told(memory.book.changes(subnet), [](const std::vector<LidChange>& changes) {
      std::string text = fmt::format("{} changed", changes.size());
      for (const LidChange& each : changes)
        text += fmt::format("; {} {} {}", each.port.str(), number(each.before), number(each.now));
      return text;
    });
  }
  return "unknown command";
}

}  // namespace

int main() {
  const auto subnet = openSubnet({});
  if (!subnet) {
    std::cerr << subnet.error().sentence() << "\n";
    return 1;
  }
  // libibmad has a word of its own for each time-out, whatever it is told; a test reads both streams as one.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 1;
  Memory memory;
  for (std::string line; std::getline(std::cin, line);) {
    Words words{std::istringstream(line)};
    std::cout << answer(**subnet, memory, words) << std::endl;
  }
}
