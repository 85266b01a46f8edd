// The network between the two hosts, with iproute2 alone. A way is lost without a word by a neighbour entry
// with an address that nobody has: what holds the connections hears nothing, as with a dead switch.
#include <fmt/format.h>

#include "migration-tests/harness/faults.hpp"

namespace rdmove::harness {
namespace {

constexpr const char* kNobody = "02:00:de:ad:00:01";

class NetworkHarm : public Harm {
 public:
  NetworkHarm(const Fault& fault, const Cast& cast) : fault_(fault), cast_(cast) {}

  std::string begin() override {
    if (fault_.how == "slow") return both(&NetworkHarm::slow);
    if (fault_.how == "cut") return both(&NetworkHarm::lose);
    if (fault_.how == "replies") return loseReplies(*cast_.destination, *cast_.source);
    const bool to_source = fault_.how == "to-source";
    const Host& sender = to_source ? *cast_.destination : *cast_.source;
    const Host& receiver = to_source ? *cast_.source : *cast_.destination;
    return lose(sender, receiver);
  }

  std::string end() override {
    std::string trouble;
    const bool queues = fault_.how == "slow" || fault_.how == "replies";
    for (const auto& [host, other] :
         {std::pair{cast_.source, cast_.destination}, {cast_.destination, cast_.source}}) {
      if (fault_.how == "replies" && host == cast_.source) continue;
      const std::string undo = queues ? "tc qdisc del dev $dev root" : heal(*other);
      trouble += carryOut(*host, find(*other) + undo);
    }
    return trouble;
  }

 private:
  template <class Act>
  std::string both(Act act) {
    return (this->*act)(*cast_.source, *cast_.destination) + (this->*act)(*cast_.destination, *cast_.source);
  }

  /// The interface that leads there, as $dev.
  static std::string find(const Host& other) {
    return fmt::format("dev=$(ip -o route get {} | sed 's/.* dev \\([^ ]*\\).*/\\1/'); ", other.address);
  }

  /// A host behind a router gets a route of its own, or the router's entry would have to be spoilt.
  std::string lose(const Host& host, const Host& other) {
    return carryOut(
        host,
        find(other) +
            fmt::format("if ip -o route get {0} | grep -q ' via '; then ip route add {0}/32 dev $dev; fi; "
                        "ip neigh replace {0} lladdr {1} dev $dev nud permanent",
                        other.address, kNobody));
  }

  /// What that host's libvirtd answers: a class without room for a packet. The stream and all else go on.
  std::string loseReplies(const Host& host, const Host& other) {
    return carryOut(
        host, find(other) + fmt::format("tc qdisc replace dev $dev root handle 1: htb default 1 && "
                                        "tc class add dev $dev parent 1: classid 1:1 htb rate 10gbit && "
                                        "tc class add dev $dev parent 1: classid 1:2 htb rate 1mbit && "
                                        "tc qdisc add dev $dev parent 1:2 pfifo limit 0 && "
                                        "tc filter add dev $dev parent 1: protocol ip u32 match ip dst {}/32 "
                                        "match ip sport {} 0xffff flowid 1:2",
                                        other.address, fault_.port));
  }

  static std::string heal(const Host& other) {
    return fmt::format(
        "ip neigh del {0} dev $dev 2>/dev/null; ip route del {0}/32 dev $dev 2>/dev/null; true",
        other.address);
  }

  std::string slow(const Host& host, const Host& other) {
    return carryOut(
        host,
        find(other) + fmt::format("tc qdisc replace dev $dev root tbf rate {}mbit burst 64k latency 400ms",
                                  fault_.mbit));
  }

  static std::string carryOut(const Host& host, std::string script) {
    const Ended ended = run(host.on(std::move(script)));
    return ended.ok() ? "" : host.name + ": " + ended.output;
  }

  const Fault& fault_;
  const Cast& cast_;
};

}  // namespace

std::unique_ptr<Harm> networkHarm(const Fault& fault, const Cast& cast) {
  return std::make_unique<NetworkHarm>(fault, cast);
}

}  // namespace rdmove::harness
